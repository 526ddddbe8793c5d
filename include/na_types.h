/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of Mercury's network layer that programs for its RPC layer use:
 * mostly the fields of `struct hg_init_info`. */
#ifndef NA_TYPES_H
#define NA_TYPES_H

#include <limits.h>

#include "na_config.h"

/* Opaque; NA_Initialize() creates a class, HG_Init_opt2() takes it. */
typedef struct na_class na_class_t;
typedef struct na_context na_context_t;
typedef struct na_addr na_addr_t;

typedef uint32_t na_tag_t;

/* Version of the layout of `struct na_init_info`, for NA_Initialize_opt2(). */
#define NA_VERSION(major, minor) (((unsigned)(major) << 16) | (unsigned)(minor))
#define NA_MAJOR(version)        ((version) >> 16)
#define NA_MINOR(version)        ((version)&0xffff)
#define NA_VERSION_GE(v1, v2)    ((v1) >= (v2))
#define NA_VERSION_LT(v1, v2)    ((v1) < (v2))

#define NA_TAG_MAX        UINT32_MAX
#define NA_CONTEXT_ID_MAX UINT8_MAX

/* A time-out for programs that wait long: 1 hour, in milliseconds. */
#define NA_MAX_IDLE_TIME (3600 * 1000)

/* Return codes, equal to the first 24 values of hg_return_t. A program that
 * expands this list defines X(name). */
#define NA_RETURN_VALUES                                                       \
    X(NA_SUCCESS)                                                              \
    X(NA_PERMISSION)                                                           \
    X(NA_NOENTRY)                                                              \
    X(NA_INTERRUPT)                                                            \
    X(NA_AGAIN)                                                                \
    X(NA_NOMEM)                                                                \
    X(NA_ACCESS)                                                               \
    X(NA_FAULT)                                                                \
    X(NA_BUSY)                                                                 \
    X(NA_EXIST)                                                                \
    X(NA_NODEV)                                                                \
    X(NA_INVALID_ARG)                                                          \
    X(NA_PROTOCOL_ERROR)                                                       \
    X(NA_OVERFLOW)                                                             \
    X(NA_MSGSIZE)                                                              \
    X(NA_PROTONOSUPPORT)                                                       \
    X(NA_OPNOTSUPPORTED)                                                       \
    X(NA_ADDRINUSE)                                                            \
    X(NA_ADDRNOTAVAIL)                                                         \
    X(NA_HOSTUNREACH)                                                          \
    X(NA_TIMEOUT)                                                              \
    X(NA_CANCELED)                                                             \
    X(NA_IO_ERROR)                                                             \
    X(NA_HOSTFIREWALL)                                                         \
    X(NA_RETURN_MAX)

#define X(name) name,
typedef enum na_return { NA_RETURN_VALUES } na_return_t;
#undef X

/* Preferred kind of addresses. */
enum na_addr_format {
    NA_ADDR_UNSPEC,
    NA_ADDR_IPV4,
    NA_ADDR_IPV6,
    NA_ADDR_NATIVE
};

/* Requested quality of service of the network. */
enum na_traffic_class {
    NA_TC_UNSPEC,
    NA_TC_BEST_EFFORT,
    NA_TC_LOW_LATENCY,
    NA_TC_BULK_DATA,
    NA_TC_DEDICATED_ACCESS,
    NA_TC_SCAVENGER,
    NA_TC_NETWORK_CTRL,
    NA_TC_MAX
};

/* Kind of memory. */
enum na_mem_type {
    NA_MEM_TYPE_HOST,
    NA_MEM_TYPE_CUDA,
    NA_MEM_TYPE_ROCM,
    NA_MEM_TYPE_ZE,
    NA_MEM_TYPE_MAX,
    NA_MEM_TYPE_UNKNOWN
};

/* Access of peers to memory. */
#define NA_MEM_READ_ONLY  0x01
#define NA_MEM_WRITE_ONLY 0x02
#define NA_MEM_READWRITE  (NA_MEM_READ_ONLY | NA_MEM_WRITE_ONLY)

/* Bits of progress_mode. NO_BLOCK: progress polls and never sleeps. NO_RETRY:
 * no effect here. */
#define NA_NO_BLOCK 0x01
#define NA_NO_RETRY 0x02

/* Bits of thread_mode: the program promises to use the class, or each context,
 * in one thread only. No effect here. */
#define NA_THREAD_MODE_SINGLE_CLS 0x01
#define NA_THREAD_MODE_SINGLE_CTX 0x02
#define NA_THREAD_MODE_SINGLE                                                  \
    (NA_THREAD_MODE_SINGLE_CLS | NA_THREAD_MODE_SINGLE_CTX)

/* Optional features of a plugin of Mercury, for NA_Has_opt_feature(). */
#define NA_OPT_MULTI_RECV    0x01
#define NA_OPT_FIREWALL_ADDR 0x02

/* Contiguous piece of memory. */
struct na_segment {
    void *base;
    size_t len;
};

/* A protocol that can be opened, as an element of a singly linked list. */
struct na_protocol_info {
    struct na_protocol_info *next;
    char *class_name;
    char *protocol_name;
    char *device_name;
};

/* Options of the network layer. Zeros select the defaults. Every transport
 * accepts every field; the comment of a field names the transports over which
 * the field has no effect. */
struct na_init_info {
    /* "a.b.c.d/len" or IPv6: subnet of our address. Over libfabric the class
     * uses an interface in that subnet, or is not opened. Without effect over
     * self, shared memory, MPI, and networks that have no IP addresses. */
    const char *ip_subnet;
    /* The job's key, in the provider's own form; on Slingshot "SERVICE:VNI".
     * NULL over libfabric: the launcher's key, see AMALGAM_SLINGSHOT_VNI.
     * Without effect over self, shared memory and MPI: the system separates
     * jobs, and users on a host, and addresses of other jobs are refused. */
    const char *auth_key;
    /* Bytes of the longest request and of the longest reply; 0: default
     * (AMALGAM_MESSAGE_BYTES). All transports use the larger of the two values
     * for both, within their limits. The ranks of an MPI class use the smallest
     * value of all ranks; see HG_Class_get_input_eager_size(). */
    size_t max_unexpected_size;
    size_t max_expected_size;
    /* NA_NO_BLOCK: over all transports, progress never sleeps, and there is no
     * descriptor to wait on; a libfabric provider opens no descriptor, either.
     * NA_NO_RETRY has no effect: the library queues a message that a transport
     * cannot take at once. */
    uint8_t progress_mode;
    /* Preferred kind of addresses. Over libfabric NA_ADDR_IPV4 and NA_ADDR_IPV6
     * are requirements, other values leave the choice to the provider. Without
     * effect over self, shared memory and MPI, each of which has one kind. */
    enum na_addr_format addr_format;
    /* Number of contexts, with ids from 0 on, over all transports; 0 means 1.
     * Contexts over libfabric share one endpoint: some NICs have only few. */
    uint8_t max_contexts;
    /* NA_THREAD_MODE_*, a promise; 0: any thread. Without effect: over MPI the
     * level of MPI_Init_thread() decides, else any thread may make calls. */
    uint8_t thread_mode;
    /* Device memory will be exposed. Without effect: HG_Bulk_create_attr()
     * exposes host memory only. */
    bool request_mem_device;
    /* Requested quality of service of the network; since 5.0. Without effect
     * over any transport. */
    enum na_traffic_class traffic_class;
};

/* Options of NA 4.0, before the traffic class was added; frozen. See struct
 * na_init_info for the fields. */
struct na_init_info_4_0 {
    const char *ip_subnet;
    const char *auth_key;
    size_t max_unexpected_size;
    size_t max_expected_size;
    uint8_t progress_mode;
    enum na_addr_format addr_format;
    uint8_t max_contexts;
    uint8_t thread_mode;
    bool request_mem_device;
};

/* The head of an aggregate expression, in C and in C++. */
#ifdef __cplusplus
#define NA_AGGREGATE(name) name
#else
#define NA_AGGREGATE(name) (struct name)
#endif

#define NA_INIT_INFO_INITIALIZER                                               \
    NA_AGGREGATE(na_init_info)                                                 \
    {                                                                          \
        NULL, NULL, 0, 0, 0, NA_ADDR_UNSPEC, 1, 0, false, NA_TC_UNSPEC         \
    }
#define NA_INIT_INFO_INITIALIZER_4_0                                           \
    NA_AGGREGATE(na_init_info_4_0)                                             \
    {                                                                          \
        NULL, NULL, 0, 0, 0, NA_ADDR_UNSPEC, 1, 0, false                       \
    }

#endif
