/* SPDX-License-Identifier: BSD-3-Clause */
/* Return codes, basic types and init options, for every other public header. */
#ifndef MERCURY_CORE_TYPES_H
#define MERCURY_CORE_TYPES_H

#include "mercury_config.h"
#include "na_types.h"

typedef uint64_t hg_size_t; /* bytes */
typedef uint64_t hg_id_t;   /* names an RPC; 0 names none */

#define HG_SIZE_MAX UINT64_MAX

/* Version of the layout of `struct hg_init_info`, for HG_Init_opt2(). */
#define HG_VERSION(major, minor) (((unsigned)(major) << 16) | (unsigned)(minor))
#define HG_MAJOR(version)        ((version) >> 16)
#define HG_MINOR(version)        ((version)&0xffff)
#define HG_VERSION_GE(v1, v2)    ((v1) >= (v2))
#define HG_VERSION_LT(v1, v2)    ((v1) < (v2))

/* A time-out for programs that wait long: 1 hour, in milliseconds. */
#define HG_MAX_IDLE_TIME (3600 * 1000)

/* The return codes as a list, which a program may expand with its own X(name).
 * See HG_Error_to_string(). The first 24 codes equal those of na_return_t. */
#define HG_RETURN_VALUES                                                       \
    X(HG_SUCCESS)        /* done, or started */                                \
    X(HG_PERMISSION)     /* memory is not exposed for this access */           \
    X(HG_NOENTRY)        /* no such object is known */                         \
    X(HG_INTERRUPT)      /* a signal interrupted the call */                   \
    X(HG_AGAIN)          /* not now; make progress and call again */           \
    X(HG_NOMEM)          /* memory is exhausted */                             \
    X(HG_ACCESS)         /* the system forbids the operation */                \
    X(HG_FAULT)          /* something that the call needs was not set */       \
    X(HG_BUSY)           /* still in use; nothing was done */                  \
    X(HG_EXIST)          /* the object exists already */                       \
    X(HG_NODEV)          /* no such device */                                  \
    X(HG_INVALID_ARG)    /* the caller broke the documented contract */        \
    X(HG_PROTOCOL_ERROR) /* a peer violated the protocol */                    \
    X(HG_OVERFLOW)       /* bytes do not fit, or reach beyond an end */        \
    X(HG_MSGSIZE)        /* longer than a message may be */                    \
    X(HG_PROTONOSUPPORT) /* no such transport */                               \
    X(HG_OPNOTSUPPORTED) /* this build, class or thread cannot do that */      \
    X(HG_ADDRINUSE)      /* another process uses the address */                \
    X(HG_ADDRNOTAVAIL)   /* the address names no reachable process */          \
    X(HG_HOSTUNREACH)    /* the peer cannot be reached, or has ended */        \
    X(HG_TIMEOUT)        /* the time limit has passed */                       \
    X(HG_CANCELED)       /* cancelled */                                       \
    X(HG_IO_ERROR)       /* the network failed */                              \
    X(HG_HOSTFIREWALL)   /* a firewall blocks the network */                   \
    X(HG_CHECKSUM_ERROR) /* the bytes are not those that were sent */          \
    X(HG_NA_ERROR)       /* the transport failed; see log */                   \
    X(HG_OTHER_ERROR)    /* none of the above; see log */                      \
    X(HG_RETURN_MAX)

#define X(name) name,
typedef enum hg_return { HG_RETURN_VALUES } hg_return_t;
#undef X

/* Older names. */
#define HG_INVALID_PARAM HG_INVALID_ARG
#define HG_SIZE_ERROR    HG_MSGSIZE
#define HG_NOMEM_ERROR   HG_NOMEM
#define HG_NO_MATCH      HG_NOENTRY

/* Type of the operation that a callback completes. */
typedef enum hg_cb_type {
    HG_CB_LOOKUP,
    HG_CB_FORWARD,
    HG_CB_RESPOND,
    HG_CB_BULK
} hg_cb_type_t;

/* Argument of an RPC: none, the input, or the output. */
typedef enum { HG_UNDEF, HG_INPUT, HG_OUTPUT } hg_op_t;

/* Part of a message that a checksum covers. */
typedef enum {
    HG_CHECKSUM_NONE,
    HG_CHECKSUM_RPC_HEADERS,
    HG_CHECKSUM_RPC_PAYLOAD
} hg_checksum_level_t;

/* Kind of exposed memory; the order is that of enum na_mem_type. */
typedef enum hg_mem_type {
    HG_MEM_TYPE_HOST,
    HG_MEM_TYPE_CUDA,
    HG_MEM_TYPE_ROCM,
    HG_MEM_TYPE_ZE,
    HG_MEM_TYPE_MAX,
    HG_MEM_TYPE_UNKNOWN
} hg_mem_type_t;

/* Flag of address serialisation; known, and without effect here. */
#define HG_CORE_SM (1 << 0)

/* Options of HG_Init_opt2(). Start from HG_INIT_INFO_INITIALIZER; zeros select
 * the defaults. Every transport accepts every field; the comment of a field
 * names the transports over which the field has no effect. */
struct hg_init_info {
    /* Options of the network layer, in the layout of NA 4.0; see na_types.h.
     * Not read when `na_class` is set. */
    struct na_init_info_4_0 na_init_info;
    /* Use this NA class, and ignore the init string. The caller keeps the NA
     * class, and closes the NA class after HG_Finalize(). All transports. */
    na_class_t *na_class;
    /* Receives kept posted; 0: default. Without effect: AMALGAM_CREDITS limits
     * the requests in flight from each peer, and each transport keeps as many
     * receives as these requests need. */
    uint32_t request_post_init;
    /* Receives to add when none is left; 0: default, <0: none. Without effect:
     * because of the credits, receives never run out. */
    int32_t request_post_incr;
    /* Use shared memory to processes of this host besides the main transport:
     * over MPI the init string "mpi" then means "auto". Over self, shared
     * memory and libfabric: without effect, and the log warns. */
    uint8_t auto_sm;
    /* A name for the shared memory of auto_sm, unique for each process of a
     * host; NULL: the library chooses one. */
    const char *sm_info_string;
    /* Part of each message that a checksum covers. All transports, including
     * self; the two ends of a call may have different levels. */
    hg_checksum_level_t checksum_level;
    /* Never put bulk data into a request. All transports. */
    uint8_t no_bulk_eager;
    /* Send calls of this process to itself over the main transport. If the main
     * transport cannot reach its own process, or the class does not listen, the
     * calls use the loopback nevertheless. Over self: without effect. */
    uint8_t no_loopback;
    /* Log the counters when the class is closed. All transports. */
    uint8_t stats;
    /* Use one buffer per receive. Without effect: each request that arrives has
     * a buffer of its own anyway. */
    uint8_t no_multi_recv;
    /* Release an input buffer when HG_Get_input() has decoded it, and not only
     * when the handle is destroyed. All transports. */
    uint8_t release_input_early;
    /* Quality of service of the network; since 2.4, like all fields below.
     * Without effect over all transports. */
    enum na_traffic_class traffic_class;
    /* Arguments longer than one message fail with HG_OVERFLOW. All
     * transports. */
    bool no_overflow;
    /* Number of buffers that many requests share; 0: default, 4. Without
     * effect, as no_multi_recv is. */
    unsigned int multi_recv_op_max;
    /* Copy requests once only this number of shared buffers is left. Without
     * effect, but a value above multi_recv_op_max is an error. */
    unsigned int multi_recv_copy_threshold;
};

#define HG_INIT_INFO_INITIALIZER                                               \
    NA_AGGREGATE(hg_init_info)                                                 \
    {                                                                          \
        NA_INIT_INFO_INITIALIZER_4_0, NULL, 0, 0, 0, NULL, HG_CHECKSUM_NONE,   \
            0, 0, 0, 0, 0, NA_TC_UNSPEC, false, 0, 0                           \
    }

/* Counters of a class; see HG_Class_get_counters(). */
struct hg_diag_counters {
    uint64_t rpc_req_sent_count;
    uint64_t rpc_req_recv_count; /* without requests to contexts that do not
                                  * exist here: the transport refuses these */
    uint64_t rpc_resp_sent_count;
    uint64_t rpc_resp_recv_count;
    uint64_t rpc_req_extra_count;  /* requests longer than a usual message */
    uint64_t rpc_resp_extra_count; /* replies longer than a usual message */
    uint64_t rpc_req_recv_active_count;
    uint64_t rpc_multi_recv_copy_count;
    uint64_t bulk_count;
    uint64_t packed_msg_count; /* messages sent with several calls or replies */
    uint64_t packed_call_count; /* calls and replies in packed messages */
};

#endif
