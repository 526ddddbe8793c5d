/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the RPC and bulk layers, and the callbacks of programs. */
#ifndef MERCURY_TYPES_H
#define MERCURY_TYPES_H

#include "mercury_core_types.h"

/* All objects are opaque. hg_class_t and hg_context_t are structs; the other
 * types are pointers to structs. */
typedef struct hg_class hg_class_t;
typedef struct hg_context hg_context_t;
typedef struct hg_addr *hg_addr_t;
typedef struct hg_handle *hg_handle_t;
typedef struct hg_bulk *hg_bulk_t;
typedef struct hg_proc *hg_proc_t;
typedef struct hg_op_id *hg_op_id_t;

#define HG_ADDR_NULL   ((hg_addr_t)0)
#define HG_HANDLE_NULL ((hg_handle_t)0)
#define HG_BULK_NULL   ((hg_bulk_t)0)
#define HG_PROC_NULL   ((hg_proc_t)0)
#define HG_OP_ID_NULL  ((hg_op_id_t)0)
/* Value for `op_id` of a call: the caller wants no operation id. */
#define HG_OP_ID_IGNORE ((hg_op_id_t *)1)

/* Properties of a handle's call, borrowed from the handle: HG_Addr_dup() the
 * address to keep it longer. */
struct hg_info {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;     /* of the peer: at the origin the target, at the target
                         * the origin */
    hg_id_t id;         /* of the RPC */
    uint8_t context_id; /* of the peer's context */
};

/* Direction of bulk data, seen from the process that starts the transfer. */
typedef enum {
    HG_BULK_PUSH, /* from local memory to the origin's */
    HG_BULK_PULL  /* from the origin's memory to local memory */
} hg_bulk_op_t;

/* Options of HG_Bulk_create_attr(). */
struct hg_bulk_attr {
    hg_mem_type_t mem_type;
    uint64_t device; /* number of the device that has the memory */
};

struct hg_cb_info_lookup {
    hg_addr_t addr; /* owned by the callback; HG_Addr_free() frees it */
};

struct hg_cb_info_forward {
    hg_handle_t handle;
};

struct hg_cb_info_respond {
    hg_handle_t handle;
};

struct hg_cb_info_bulk {
    hg_bulk_t origin_handle;
    hg_bulk_t local_handle;
    hg_bulk_op_t op;
    hg_size_t size; /* bytes moved */
};

/* Argument of a callback; valid until the callback returns. */
struct hg_cb_info {
    union {
        struct hg_cb_info_lookup lookup;
        struct hg_cb_info_forward forward;
        struct hg_cb_info_respond respond;
        struct hg_cb_info_bulk bulk;
    } info; /* `type` says which member is set */
    void *arg;
    hg_cb_type_t type;
    hg_return_t ret; /* result of the operation */
};

/* Serves an RPC at its target; runs inside HG_Trigger(). For each handle, the
 * program must call HG_Respond() (unless one-way) and HG_Destroy(), in the
 * callback or later. The return value is ignored. */
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);

/* Receives the result of an operation; runs inside HG_Trigger(). The return
 * value is ignored. */
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info *callback_info);

/* Encodes, decodes or frees what `data` points to; see mercury_proc.h. */
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void *data);

/* Task of a proc callback. */
typedef enum { HG_ENCODE, HG_DECODE, HG_FREE } hg_proc_op_t;

#endif
