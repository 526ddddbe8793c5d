/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: its states, its one transition function, and its references. */
#ifndef AMG_RPC_HANDLE_H
#define AMG_RPC_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/refcount.h"
#include "bulk/bulk_transfer.h"
#include "core/addr.h"
#include "core/context.h"
#include "mercury_handle.h"
#include "rpc/registry.h"
#include "transport/op.h"

/* The left column is a call at its origin, the right one at its target. */
enum amg_handle_state {
    AMG_HANDLE_IDLE,     /* origin: made or reset; no call has been sent */
    AMG_HANDLE_POSTED,   /* origin: with the driver; the reply may come */
    AMG_HANDLE_FETCHING, /* origin: the long reply is being pulled */
    AMG_HANDLE_READY,    /* origin: ended; waits for the user's trigger */
    AMG_HANDLE_DONE,     /* origin: the user was told; may be sent again */

    AMG_HANDLE_ARRIVED,  /* target: a request came in */
    AMG_HANDLE_PULLING,  /* target: its long arguments are awaited */
    AMG_HANDLE_WAITING,  /* target: waits for the user's trigger */
    AMG_HANDLE_RUNNING,  /* target: the user has it, and owes an answer */
    AMG_HANDLE_REPLYING, /* target: the answer is with the driver */
    AMG_HANDLE_ACK_WAIT, /* target: the origin pulls the long answer */
    AMG_HANDLE_ANSWERED, /* target: nothing more will happen to it */
    AMG_HANDLE_STATE_COUNT
};

/* Encoded arguments of one direction. */
struct amg_args {
    void *data; /* in the driver's message, or `extra` */
    uint64_t len;
    void *extra; /* heap memory of arguments too long for one message */
    struct hg_bulk *extra_bulk; /* exposes `extra`; owns it then */
    uint32_t sum;               /* what the sender says, if is_summed */
    bool is_summed;
};

/* Owned by its references: the user's, one for each operation in flight, and,
 * at the target, one of the answer.
 * Fields without an own word are written by whoever the state says has it. */
struct hg_handle {
    struct amg_op op; /* the request, or the reply */
    struct amg_cq_entry entry;
    struct hg_info info;
    struct hg_addr addr; /* what info.addr points to */
    /* What is to be done when it ends unanswered; set before it is RUNNING, by
     * whoever made it. */
    void (*forsaken)(struct hg_handle *);
    atomic_int state; /* written by amg_handle_set_state() alone */
    atomic_int refs;  /* as at AMG_HANDLE_GOT; 0: it is gone */
    /* Of these, those that nobody has: at the origin, for the next calls; at
     * the target, that of the answer until an operation or who claims the call
     * takes it, and for good where the answer took none. */
    atomic_int spare;
    bool is_served;  /* a call at its target */
    bool keeps_data; /* served: also when it serves another call */
    /* The program's own place for the header it sends (see rpc/args.c), once it
     * asked for one; it stays with the object from use to use. */
    void *raw;
    void *data; /* the user's */
    void (*data_free)(void *);
    /* From here to the end all is zero when it is made: handle_clear(). */
    struct amg_rpc *rpc; /* NULL: none set */
    bool is_one_way;     /* no answer is expected */
    bool is_long;        /* served: its arguments are to be pulled */
    bool is_counted;     /* as one the user holds */
    bool is_released;    /* served: the message of its input was given back */
    bool has_reply;      /* origin: op.data is to be released */
    /* Set by HG_Cancel, read by the steps: a wish, so relaxed. */
    atomic_bool is_cancelled;
    hg_return_t ret; /* how it ended */
    hg_cb_t callback;
    void *arg;
    struct amg_args in;
    struct amg_args out;
    struct amg_arrival *arrival; /* served: the request, until released */
    struct hg_op_id *fetch;      /* guarded by context->upper_lock */
    /* Served: on context->upper in ACK_WAIT; before, maybe on its `early`, or
     * waiting for room (rpc/serve.c), or on its `unanswered`. */
    struct amg_link link;
    /* While it is unanswered: by which thread, if that tells when to give it
     * up, and when that is at the latest. */
    const struct amg_role *let_go_by;
    uint64_t let_go_ns;
    /* In ACK_WAIT, guarded by context->upper_lock; see rpc/respond.c. */
    struct amg_ask *ask;  /* what its origin is being asked; NULL: nothing */
    uint64_t ask_ns;      /* when it will be, */
    uint64_t ask_wait_ns; /* and how long after that again */
    bool is_leaving;      /* its message is with the driver */
    uint64_t token;       /* names it in an ACK */
    uint64_t pull_len;    /* is_long: what its arguments take; else not set */
};

/* A fresh one with a reference. HG_NOMEM. */
hg_return_t amg_handle_create(
    hg_context_t *context, bool is_served, struct hg_handle **ret_handle);

#define AMG_HANDLE_BIT(state) (1u << (AMG_HANDLE_##state))

/* Has a bit for each state that may follow. Here, so that where both states are
 * known to the compiler nothing is left of the check. */
static const unsigned amg_handle_edges[AMG_HANDLE_STATE_COUNT] = {
    [AMG_HANDLE_IDLE] = AMG_HANDLE_BIT(POSTED),
    [AMG_HANDLE_POSTED] =
        AMG_HANDLE_BIT(FETCHING) | AMG_HANDLE_BIT(READY) | AMG_HANDLE_BIT(IDLE),
    [AMG_HANDLE_FETCHING] = AMG_HANDLE_BIT(READY),
    [AMG_HANDLE_READY] = AMG_HANDLE_BIT(DONE),
    [AMG_HANDLE_DONE] = AMG_HANDLE_BIT(IDLE),
    [AMG_HANDLE_ARRIVED] = AMG_HANDLE_BIT(PULLING) | AMG_HANDLE_BIT(WAITING) |
                           AMG_HANDLE_BIT(REPLYING) | AMG_HANDLE_BIT(ANSWERED),
    [AMG_HANDLE_PULLING] = AMG_HANDLE_BIT(WAITING) | AMG_HANDLE_BIT(REPLYING) |
                           AMG_HANDLE_BIT(ANSWERED),
    [AMG_HANDLE_WAITING] = AMG_HANDLE_BIT(RUNNING),
    [AMG_HANDLE_RUNNING] = AMG_HANDLE_BIT(REPLYING) | AMG_HANDLE_BIT(ANSWERED),
    [AMG_HANDLE_REPLYING] = AMG_HANDLE_BIT(RUNNING) | AMG_HANDLE_BIT(ACK_WAIT) |
                            AMG_HANDLE_BIT(ANSWERED),
    [AMG_HANDLE_ACK_WAIT] = AMG_HANDLE_BIT(RUNNING) | AMG_HANDLE_BIT(ANSWERED),
};

/* The only writer of the state, which the caller has just found to be `now`. */
static inline void amg_handle_move_state(struct hg_handle *handle,
    enum amg_handle_state now, enum amg_handle_state next)
{
    AMG_ASSERT((amg_handle_edges[now] >> next & 1u) != 0);
    atomic_store_explicit(&handle->state, (int)next, memory_order_release);
}
/* The same, whatever it is. */
static inline void amg_handle_set_state(
    struct hg_handle *handle, enum amg_handle_state next)
{
    int now = atomic_load_explicit(&handle->state, memory_order_relaxed);

    amg_handle_move_state(handle, (enum amg_handle_state)now, next);
}
static inline enum amg_handle_state amg_handle_state(
    const struct hg_handle *handle)
{
    return (enum amg_handle_state)atomic_load_explicit(
        &handle->state, memory_order_acquire);
}

/* A reference of arguments that were decoded and not freed yet: it is counted
 * as one, and once more in the upper bits. */
enum { AMG_HANDLE_GOT = (1 << 20) + 1 };

/* Spare ones are made so many at once. */
enum { AMG_HANDLE_SPARE = 1 << 16 };

/* How many references there are in all; that of an answer counts as one until
 * it is given. */
static inline int amg_handle_refs(const struct hg_handle *handle)
{
    int refs = amg_refs_get(&handle->refs) & (AMG_HANDLE_GOT - 2);

    return amg_handle_state(handle) == AMG_HANDLE_RUNNING
               ? refs
               : refs - amg_refs_spare(&handle->spare);
}

/* Is it one that is there? By the functions that programs call. */
#define AMG_HANDLE_OK(handle)                                                  \
    AMG_ALIVE((handle) != HG_HANDLE_NULL && amg_refs_get(&(handle)->refs) > 0, \
        "handle", (handle))

static inline void amg_handle_hold(struct hg_handle *handle)
{
    amg_refs_hold(&handle->refs);
}
/* Nobody has a reference any more: gives everything back. */
void amg_handle_end(struct hg_handle *handle);
static inline void amg_handle_drop_some(struct hg_handle *handle, int share)
{
    if (amg_refs_drop(&handle->refs, share, &handle->spare))
        amg_handle_end(handle);
}
static inline void amg_handle_drop(struct hg_handle *handle)
{
    amg_handle_drop_some(handle, 1);
}
/* The same by the program, which may have forgotten the answer, of one or of
 * AMG_HANDLE_GOT. False: it has no such reference. */
bool amg_handle_let_go(struct hg_handle *handle, int share);

/* Runs the program's callback for new handles, if there is one; what that
 * returned, and then the handle is to be dropped. */
hg_return_t amg_handle_greet(struct hg_handle *handle);

/* Frees what a pooled handle keeps between its uses. */
void amg_handle_free_kept(void *object);

/* Gives back the encoded arguments of an origin's call, both ways. */
void amg_handle_forget_args(struct hg_handle *handle);
/* The same of one direction, at either side. */
void amg_handle_forget_extra(struct amg_args *args);
static inline void amg_handle_forget(struct amg_args *args)
{
    if (!AMG_LIKELY(args->extra == NULL))
        amg_handle_forget_extra(args);
    args->data = NULL;
    args->len = 0;
    args->is_summed = false;
}

static inline struct amg_ep *amg_handle_ep(const struct hg_handle *handle)
{
    return amg_context_ep(handle->info.context, handle->addr.route);
}

/* Puts the completion of an operation into the user's queue, or, when nobody
 * wants to know, runs it here. */
void amg_handle_finish(struct hg_handle *handle);

/* May it still be let go of before it is answered? */
static inline bool amg_unanswered_is_open(const struct hg_handle *handle)
{
    enum amg_handle_state state = amg_handle_state(handle);

    return state == AMG_HANDLE_RUNNING || state == AMG_HANDLE_REPLYING;
}

/* The program answers a call of which it has no reference, and has that of the
 * answer then. False: it is being given up. */
bool amg_unanswered_claim(struct hg_handle *handle);
/* An answer could not be sent. The handle may be gone after that. */
void amg_unanswered_again(struct hg_handle *handle);

/* When the context looks: gives up what is due. */
void amg_unanswered_look(hg_context_t *context, uint64_t now_ns);
/* The context is about to go: gives all up. */
void amg_unanswered_end(hg_context_t *context);

#endif
