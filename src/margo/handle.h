/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo's part of each handle (HG_Set_data), and the handles kept for later
 * calls. */
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
    AMG_MARGO_HANDLE_NONE, /* nothing that Margo gave it */
    AMG_MARGO_HANDLE_OUT,  /* from margo_create(), or amg_margo_handle_take(),
                            * until the last margo_destroy() */
    AMG_MARGO_HANDLE_BACK, /* from then on */
};

/* Owned by its handle: made with it, for a call that is served also for the
 * calls after it, and freed with it. */
struct amg_margo_handle {
    struct amg_link link; /* among all of the process */
    hg_handle_t handle;
    margo_instance_id mid;     /* of its present use */
    struct amg_margo_rpc *rpc; /* the same; it may be deregistered */
    atomic_uint use;           /* enum amg_margo_handle_use */
    atomic_uint refs;          /* the program's */
    bool is_served;
    bool is_answered; /* served: the program has given an answer */
    /* Request of the operation in flight, the mark for an abandoned one (see
     * call.c), or NULL. */
    _Atomic(struct margo_request_struct *) request;
    bool is_timed;   /* that operation has a limit of time */
    hg_return_t ret; /* of the last call */
    void *user_data;
    void (*user_free)(void *);
    margo_monitor_data_t monitor_data;
    struct amg_margo_handle *next; /* kept by an instance */
    /* The function that serves it, and the queue where it waits for that. */
    void (*serve)(hg_handle_t handle);
    struct amg_margo_handle **left; /* its handler's; see leave_to_handler() */
    struct amg_link queued;
};

/* The handles that an instance keeps for later calls. */
struct amg_margo_handles {
    struct amg_lock lock; /* guards what follows */
    struct amg_margo_handle *first;
    unsigned count;
    unsigned cap;
};

/* Once the class is there, and before anything is called. HG_NOMEM ... */
hg_return_t amg_margo_handles_open(margo_instance_id mid);
/* Before the context is destroyed: the kept ones go. */
void amg_margo_handles_close(margo_instance_id mid);

/* False: there is none, or it is gone; one line says so of `call`. */
static inline bool amg_margo_handle_is_there(
    hg_handle_t handle, const char *call)
{
    return AMG_LIKELY(
               handle != HG_HANDLE_NULL && amg_refs_get(&handle->refs) > 0) ||
           amg_contract_gone(call, "handle", handle);
}

/* Margo's part of it; NULL: there is none, or no handle. */
static inline struct amg_margo_handle *amg_margo_handle_find(hg_handle_t handle)
{
    return handle == HG_HANDLE_NULL ? NULL : HG_Get_data(handle);
}

/* A request came in: the program gets its handle, and has to call
 * margo_destroy(). */
struct amg_margo_handle *amg_margo_handle_take(
    struct amg_margo_rpc *rpc, hg_handle_t handle);

/* The RPC of its present use, also when that was deregistered meanwhile; NULL:
 * none of Margo's. */
struct amg_margo_rpc *amg_margo_handle_rpc(const struct amg_margo_handle *data);

/* The handler that destroyed its handle without an answer has returned: the
 * answer would come too late now. */
void amg_margo_handle_give_up(struct amg_margo_handle *data);

/* Answers a call in the place of the program, by an error code alone. */
void amg_margo_handle_refuse(hg_handle_t handle, hg_return_t ret);

/* Visits all handles of the instance, under a lock. */
void amg_margo_handles_each(
    margo_instance_id mid, void (*visit)(struct amg_margo_handle *data));

/* Logs by RPC name which handlers and calls the instance waits for. */
void amg_margo_handles_tell(margo_instance_id mid);

/* At the end: logs by RPC name which handles the program never destroyed. */
void amg_margo_handles_report(margo_instance_id mid);

#endif
