/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's part of each handle (HG_Set_data), and the cache of handles that an
 * instance uses again for later calls. */
#ifndef AMG_MARGO_HANDLE_H
#define AMG_MARGO_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "margo.h"
#include "mercury.h"
#include "rpc/handle.h"

struct margo_request_struct;
struct amg_margo_rpc;

/* Whether the program owns a handle. */
enum amg_margo_handle_use {
    AMG_MARGO_HANDLE_NONE, /* not given to the program by Margo */
    AMG_MARGO_HANDLE_OUT,  /* from margo_create(), or from the
                            * dispatch of a request, until the
                            * last margo_destroy() */
    AMG_MARGO_HANDLE_BACK, /* after the last margo_destroy() */
};

/* Margo's part of a handle; owned by the handle, and freed with it. A handle
 * that serves calls keeps its part for later calls. */
struct amg_margo_handle {
    struct amg_link link; /* among all handles of the process */
    hg_handle_t handle;
    /* Instance and RPC (maybe deregistered) of the handle's present use; stored
     * before the release store that begins the use. amg_margo_handles_log()
     * reads, at any time: mid, `use` (acquire), then rpc and is_answered. */
    _Atomic(margo_instance_id) mid;
    _Atomic(struct amg_margo_rpc *) rpc;
    atomic_uint use;         /* enum amg_margo_handle_use */
    atomic_uint refs;        /* references of the program */
    atomic_bool is_served;   /* serves an incoming request; false: for calls */
    atomic_bool is_answered; /* an answer to the request was posted */
    /* Request of the operation in flight; or `abandoned` of call.c, if no
     * thread waits for the operation any more; or NULL. */
    _Atomic(struct margo_request_struct *) request;
    /* The operation in flight is a call to a group; an independent value. */
    atomic_bool is_group;
    bool is_timed;   /* the operation in flight has a time limit */
    bool is_refused; /* the target's reply to the last call is an error */
    hg_return_t ret; /* result of the last call or answer */
    void *user_data;
    void (*user_free)(void *);
    margo_monitor_data_t monitor_data;
    /* Of the default monitor: when the handle was created, and when the last
     * wait for its call ended (ABT_get_wtime()); 0: not yet. */
    double created_s;
    double waited_s;
    struct amg_margo_handle *next; /* next handle in the instance's cache */
    /* Of a served request. defer_to_handler() stores the handle in `*left`, a
     * variable on the stack of the handler. */
    void (*serve)(hg_handle_t handle); /* wrapper of the program's function */
    struct amg_margo_handle **left;
    struct amg_link queued; /* in the queue of requests beyond the limit */
};

/* The cache of handles of an instance, for later calls, and the queue of
 * requests beyond the limit of concurrent handlers. */
struct amg_margo_handles {
    struct amg_lock lock;           /* guards first, count and cap */
    struct amg_margo_handle *first; /* first handle of the cache */
    unsigned count;                 /* handles in the cache */
    unsigned cap;                   /* limit of `count` */
    struct amg_lock queue_lock;     /* guards waiting and running */
    struct amg_list waiting;   /* of struct amg_margo_handle, by `queued` */
    unsigned running;          /* handlers that run; used only with a limit */
    ABT_key served_by_program; /* set in threads of the program that serve a
                                * request */
};

void amg_margo_handles_init(margo_instance_id mid);
/* Called after the class was opened, before the first call. False: failed,
 * logged. */
bool amg_margo_handles_open(margo_instance_id mid);
/* Called when no call can come any more. */
void amg_margo_handles_fini(margo_instance_id mid);
/* Logs, by RPC name, the handles that the program never destroyed, and destroys
 * the handles of the cache; called before the context is destroyed. */
void amg_margo_handles_close(margo_instance_id mid);

/* False: the handle is NULL or destroyed; logged with the name `call`. */
static inline bool amg_margo_handle_is_there(
    hg_handle_t handle, const char *call)
{
    return AMG_LIKELY(
               handle != HG_HANDLE_NULL && amg_refs_get(&handle->refs) > 0) ||
           amg_contract_gone(call, "handle", handle);
}

/* Margo's part of a handle; NULL: no such part, or `handle` is NULL. */
static inline struct amg_margo_handle *amg_margo_handle_find(hg_handle_t handle)
{
    return handle == HG_HANDLE_NULL ? NULL : amg_handle_data(handle);
}

/* The instance that registered the RPC, for handles of HG_Create(). */
margo_instance_id amg_margo_info_instance(const struct hg_info *info);
/* The instance of a handle that is not NULL; MARGO_INSTANCE_NULL: none. */
static AMG_INLINE margo_instance_id amg_margo_handle_instance(
    hg_handle_t handle)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);

    return AMG_LIKELY(data != NULL && data->mid != MARGO_INSTANCE_NULL)
               ? data->mid
               : amg_margo_info_instance(HG_Get_info(handle));
}

/* The RPC of the handle's present use, also if the RPC was deregistered
 * meanwhile; NULL: no RPC of Margo. */
struct amg_margo_rpc *amg_margo_handle_rpc(const struct amg_margo_handle *data);

/* Begins to serve a request: the program gets the handle of the request, and
 * must call margo_destroy(). NULL: no memory. */
struct amg_margo_handle *amg_margo_handle_serve(
    struct amg_margo_rpc *rpc, hg_handle_t handle);
/* Called when the program has destroyed the handle of a request: if an answer
 * is due (not has_no_response) and missing, answers HG_CANCELED, and logs. */
void amg_margo_handle_abandon(struct amg_margo_handle *data);

/* Visits all handles of the instance, under a lock. */
void amg_margo_handles_each(margo_instance_id mid,
    void (*visit)(struct amg_margo_handle *data, void *arg), void *arg);

/* Logs the handlers and calls that the instance waits for, by RPC name. */
void amg_margo_handles_log(margo_instance_id mid);

/* handler.c: is the caller a handler of the instance? */
bool amg_margo_handler_is_self(margo_instance_id mid);

/* Refuses a request of an RPC that is registered here without a handler. */
hg_return_t amg_margo_serve_none(hg_handle_t handle);

#endif
