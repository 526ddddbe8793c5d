/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: its states, its references, and the steps at its target. */
#ifndef AMG_RPC_HANDLE_H
#define AMG_RPC_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/refcount.h"
#include "base/stamp.h"
#include "base/trace.h"
#include "bulk/bulk_transfer.h"
#include "core/addr.h"
#include "core/context.h"
#include "mercury_handle.h"
#include "rpc/registry.h"
#include "transport/op.h"
#include "wire/header.h"

/* States of a call: first those at its origin, then those at its target. */
enum amg_handle_state {
    AMG_HANDLE_IDLE,     /* origin: created or reset; no call sent */
    AMG_HANDLE_POSTED,   /* origin: with the driver; the reply may come */
    AMG_HANDLE_FETCHING, /* origin: the long reply is being pulled */
    AMG_HANDLE_READY,    /* origin: ended; waits for HG_Trigger() */
    AMG_HANDLE_DONE,     /* origin: the callback ran; may be sent again */

    AMG_HANDLE_ARRIVED,  /* target: a request came in */
    AMG_HANDLE_PULLING,  /* target: waits for its long arguments */
    AMG_HANDLE_WAITING,  /* target: waits for HG_Trigger() */
    AMG_HANDLE_RUNNING,  /* target: the user has the call and must answer */
    AMG_HANDLE_REPLYING, /* target: the answer is with the driver */
    AMG_HANDLE_ACK_WAIT, /* target: the origin pulls the long answer */
    AMG_HANDLE_ANSWERED, /* target: ended: answered, or one-way */
    AMG_HANDLE_STATE_COUNT
};

/* Arguments up to this length need no buffer. */
enum { AMG_SHORT_LEN = AMG_NOW_LEN - AMG_HEADER_LEN };

/* Encoded arguments of one direction. */
struct amg_args {
    void *data; /* in the driver's message, `extra`, or looped.short_args */
    uint64_t len;
    void *extra; /* heap memory of arguments outside of the message, or NULL */
    struct hg_bulk *extra_bulk; /* NULL, or exposes and owns `extra` */
    uint32_t sum;               /* checksum by the sender, if is_summed */
    /* The bits share a byte, so that one instruction clears several bits. */
    bool is_summed : 1;
    bool was_asked : 1;    /* HG_Get_input() or HG_Get_output() has run */
    bool was_released : 1; /* input: released before the handle's end */
    /* Decoding may have allocated, so HG_FREE must follow; reset by the first
     * decoding after all decoded structs were freed. */
    bool may_free : 1;
};

/* Long arguments of calls that have not run yet; see order.c. */
struct amg_rpc_pulls {
    struct amg_list waiting; /* calls that wait for room, by arrival */
    uint64_t cap;            /* limit of `len`, except for a single call */
    uint64_t len;            /* bytes that calls have reserved */
    uint64_t peak;           /* maximum of `len` so far */
    bool is_starting;        /* a thread starts pulls for all threads */
};

/* Part of a handle that the program destroyed without an answer (handle.c). */
struct amg_dropped {
    /* The thread whose callback dropped the handle and posted nothing; this
     * thread gives the call up after the callback. NULL: no such thread. */
    const struct amg_role *by;
    uint64_t give_up_ns; /* time for any thread to give up; 0: not dropped */
};

/* Part of the handle of a looped call: a call of a context to itself without a
 * message (rpc/forward.c). */
struct amg_looped {
    /* Target: handle of the origin until the call is answered; then NULL. */
    struct hg_handle *origin;
    /* Memory of a short `in` at the target, of a short `out` at the origin. */
    uint64_t short_args[AMG_SHORT_LEN / sizeof(uint64_t)];
};

/* The RPC layer's part of a context. */
struct amg_rpc_context {
    struct amg_lock lock;       /* guards all below but the last five */
    struct amg_list ack_waits;  /* answers that wait for an ACK: respond.c */
    struct amg_map acks;        /* `ack_waits` by token */
    struct amg_list early;      /* requests for unknown RPCs: begin.c */
    bool early_is_moving;       /* a thread begins requests of `early` */
    bool early_is_over;         /* the moving thread begins all of them */
    struct amg_list unanswered; /* calls destroyed unanswered: handle.c */
    struct amg_rpc_pulls pulls;
    struct amg_map lines;        /* queues of calls, by origin: order.c */
    struct amg_streams *streams; /* one-way calls not sent yet: oneway.c */
    /* Runs an incoming call: amg_serve_run(), or with counters. It publishes
     * nothing: relaxed. */
    void (*_Atomic run)(struct amg_cq_entry *);
    struct amg_lock relay_lock; /* NOTE(not a leaf): held while calls leave */
    struct amg_list relayed[2]; /* messages to pass on, by kind: relay.c */
    /* Bytes of arguments below which one-way calls leave directly; 0: calls to
     * other nodes leave through node leaders. Constant. */
    size_t direct_end;
    uint64_t clock_ns; /* time of the next sample: traced.c; of the owner */
};

static inline void (*amg_context_run_of(const hg_context_t *context))(
    struct amg_cq_entry *)
{
    return atomic_load_explicit(&context->rpc->run, memory_order_relaxed);
}

/* Owned by its references: the user's, one for each operation in flight, and,
 * at the target, one of the answer. The thread that owns the handle in its
 * current state (handle.c) writes a field, unless a comment says otherwise. */
struct hg_handle {
    struct amg_op op; /* origin: request and reply; target: the reply */
    struct amg_cq_entry entry;
    struct hg_info info;
    struct hg_addr addr; /* the peer; info.addr points here */
    /* Ends an unanswered call; serve.c sets this when it makes the handle. */
    void (*on_unanswered_end)(struct hg_handle *);
    atomic_uint state; /* written by amg_handle_move_state() alone, but for the
                        * stamp (base/stamp.h) by rpc/hang.c */
    atomic_int refs;   /* see AMG_HANDLE_GOT; 0: destroyed */
    /* References in `refs` that nobody holds yet. Origin: for later calls.
     * Target: 1, the answer's; 0 after an operation, or the thread that claims
     * the call, has taken that reference. */
    atomic_int spare;
    bool is_incoming; /* a call at its target */
    bool keeps_data;  /* target: `data` stays with the pooled object */
    /* The program's own header to be sent (see rpc/args.c), allocated when
     * first asked for; stays with the pooled object. */
    void *raw;
    void *data; /* user data */
    void (*data_free)(void *);
    /* Of the fields below, amg_handle_create() clears ret and callback. The end
     * of the handle, or of an operation, has cleared is_counted, has_reply,
     * arrival, is_shared, looped.origin, fetch, link, dropped.give_up_ns, `in`
     * and `out`. The others keep old values until they are written for the next
     * use. */
    struct amg_rpc *rpc; /* NULL: none set */
    bool is_one_way;     /* no answer is expected */
    bool is_long;        /* target: the arguments must be pulled, or came in a
                          * long message of the driver (arrival->is_long) */
    bool is_counted;     /* counted as a handle that the user holds */
    bool is_shared;      /* target: the message has several calls; kept[0] of
                          * `arrival` counts handles that use the message, and
                          * kept[1] is its route */
    bool has_reply;      /* origin: op.data must be released */
    bool is_group; /* of an edge, at origin and target, or `own`, of a call
                    * to a group; cleared before the handle is dropped */
    /* Set by HG_Cancel(), read by steps of operations. A mere flag: relaxed. */
    atomic_bool is_cancelled;
    hg_return_t ret; /* result of the call, or of the answer */
    hg_cb_t callback;
    void *arg;
    struct amg_args in;
    struct amg_args out;
    /* Target: the request, until released; NULL in a looped call. */
    struct amg_arrival *arrival;
    struct amg_looped looped;
    union {
        struct hg_op_id *fetch; /* pull in flight; under context->rpc->lock */
        struct amg_group_call *group; /* call to a group whose callback has not
                                       * begun; under the lock of groups */
    };
    /* Target: on a list of context->rpc: in ACK_WAIT on `ack_waits`, earlier
     * perhaps on `early`, `pulls.waiting` (rpc/order.c) or `unanswered`. */
    struct amg_link link;
    struct amg_dropped dropped; /* while on `unanswered` */
    /* In ACK_WAIT, guarded by context->rpc->lock; see rpc/respond.c. */
    struct amg_ask *ask;  /* probe of the origin in flight, or NULL */
    uint64_t ask_ns;      /* time of the next probe */
    uint64_t ask_wait_ns; /* interval between that probe and the next */
    bool is_leaving;      /* the driver still has the answer */
    uint64_t token;       /* names the answer in an ACK */
    uint64_t pull_len;    /* bytes to pull; not set if there is no pull */
};

#define AMG_HANDLE_BIT(state) (1u << (AMG_HANDLE_##state))

/* Bit mask of the states that may follow each state. In the header, so that the
 * compiler removes the check where it knows both states. */
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

/* The only writer of the state; the caller has just read it as `now`. */
static inline void amg_handle_move_state(struct hg_handle *handle,
    enum amg_handle_state now, enum amg_handle_state next)
{
    AMG_ASSERT((amg_handle_edges[now] >> next & 1u) != 0);
    atomic_store_explicit(&handle->state, next, memory_order_release);
}
/* amg_handle_move_state() for a caller that has not read the state. */
static inline void amg_handle_set_state(
    struct hg_handle *handle, enum amg_handle_state next)
{
    unsigned now = atomic_load_explicit(&handle->state, memory_order_relaxed);

    amg_handle_move_state(
        handle, (enum amg_handle_state)(now & AMG_STAMP_STATE), next);
}
static inline enum amg_handle_state amg_handle_state(
    const struct hg_handle *handle)
{
    unsigned now = atomic_load_explicit(&handle->state, memory_order_acquire);

    return (enum amg_handle_state)(now & AMG_STAMP_STATE);
}

/* The reference that decoded arguments hold until they are freed: adds 1 to the
 * count, and 1 to a count of such references in the upper bits. */
enum { AMG_HANDLE_GOT = (1 << 20) + 1 };

/* Spare references added at a time. */
enum { AMG_HANDLE_SPARE = 1 << 16 };

/* Checks a handle passed in by the program. */
#define AMG_HANDLE_OK(handle)                                                  \
    AMG_OURS((handle) != HG_HANDLE_NULL &&                                     \
                 amg_refs_get(&(handle)->refs) > 0 &&                          \
                 (handle)->info.context->cls != NULL,                          \
        amg_refs_get(&(handle)->refs) > 0, "handle", (handle))
/* Checks a handle that the caller only reads; may be inherited (fork()). */
#define AMG_HANDLE_EXISTS(handle)                                              \
    AMG_ALIVE((handle) != HG_HANDLE_NULL && amg_refs_get(&(handle)->refs) > 0, \
        "handle", (handle))

static inline void amg_handle_ref(struct hg_handle *handle)
{
    amg_refs_ref(&handle->refs);
}
/* No reference is left: destroys the handle or, in RUNNING, ends the call. */
void amg_handle_end(struct hg_handle *handle);
static inline void amg_handle_drop_some(struct hg_handle *handle, int share)
{
    if (amg_refs_unref(&handle->refs, share, &handle->spare))
        amg_handle_end(handle);
}
/* Drops one reference: on paths of errors, or where it is seldom the last. */
void amg_handle_unref(struct hg_handle *handle);
/* Drops a reference of the program: `share` is 1 or AMG_HANDLE_GOT; the call
 * may still be unanswered. False: the program has no such reference. */
bool amg_handle_drop(struct hg_handle *handle, int share);

/* Inline form of HG_Get_data(). */
static inline void *amg_handle_data(hg_handle_t handle)
{
    return AMG_LIKELY(amg_refs_get(&handle->refs) > 0) ? handle->data
                                                       : HG_Get_data(handle);
}

/* The arguments of one direction. `data` is NULL: none, or released. */
static inline struct amg_args *amg_handle_args(
    struct hg_handle *handle, bool is_input)
{
    return is_input ? &handle->in : &handle->out;
}

/* Does the origin of a request that has come in expect an answer? */
static inline bool amg_handle_expects_answer(const struct hg_handle *handle)
{
    return !handle->is_one_way && !handle->rpc->is_one_way;
}

/* Has on_create already run for the handle, or has the class no on_create? */
static inline bool amg_handle_is_created(const struct hg_handle *handle)
{
    return handle->keeps_data ||
           amg_rpc_class_of(handle->info.hg_class)->on_create == NULL;
}

/* Runs the program's callback for new handles, if any, and returns its result;
 * on an error the caller drops the handle. */
hg_return_t amg_handle_run_create_cb(struct hg_handle *handle);

/* Zeroes the user's header in a reused handle, for a new call. */
void amg_handle_clear_raw(struct hg_handle *handle);

/* Creates a handle with one reference; NULL: no memory. The caller sets RPC and
 * id, and for an incoming call also the peer and is_one_way. */
static AMG_INLINE struct hg_handle *amg_handle_create(
    hg_context_t *context, bool is_incoming)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(context->cls);
    struct hg_handle *handle =
        amg_pool_get(is_incoming ? &rpcs->incoming : &rpcs->handles);
    int spare = is_incoming ? 0 : AMG_HANDLE_SPARE;

    if (!AMG_LIKELY(handle != NULL))
        return NULL;
    AMG_ASSERT(!amg_link_is_listed(&handle->link));
    /* Single stores: gcc would turn a memset() into one slow instruction. */
    handle->ret = HG_SUCCESS;
    handle->callback = NULL;
    if (AMG_LIKELY(!handle->keeps_data)) {
        handle->data = NULL;
        handle->data_free = NULL;
    }
    if (!AMG_LIKELY(handle->raw == NULL))
        amg_handle_clear_raw(handle);
    handle->info.hg_class = context->cls;
    handle->info.context = context;
    handle->is_incoming = is_incoming;
    amg_refs_set(&handle->refs, 1 + spare);
    amg_refs_set(&handle->spare, spare);
    atomic_store_explicit(&handle->state,
        is_incoming ? AMG_HANDLE_ARRIVED : AMG_HANDLE_IDLE,
        memory_order_relaxed);
    amg_tally_add(&context->handles, 1);
    return handle;
}

/* Frees what a pooled handle keeps between its uses. */
void amg_handle_free_kept(void *object);

/* Release the encoded input or output; the first function: only its `extra`. */
void amg_args_release_extra(struct amg_args *args);
static inline void amg_args_release(struct amg_args *args)
{
    if (!AMG_LIKELY(args->extra == NULL))
        amg_args_release_extra(args);
    args->data = NULL;
    args->len = 0;
    args->is_summed = false;
    args->was_asked = false;
    args->was_released = false;
}

static inline struct amg_ep *amg_handle_ep(const struct hg_handle *handle)
{
    return amg_context_ep(handle->info.context, handle->addr.route);
}

/* Drops `count` shares of an arrival; true: the last ones. See is_shared. */
static inline bool amg_arrival_leave(
    struct amg_arrival *arrival, unsigned count)
{
    unsigned shares = atomic_fetch_sub_explicit(
        (atomic_uint *)(void *)arrival->kept, count, memory_order_acq_rel);

    AMG_ASSERT(shares >= count);
    return shares == count;
}

/* At the target: releases the message of the request. */
static inline void amg_handle_release_arrival(struct hg_handle *handle)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_arrival *arrival = handle->arrival;

    handle->arrival = NULL;
    if (!AMG_LIKELY(!handle->is_shared)) {
        handle->is_shared = false;
        ep = amg_context_ep(handle->info.context, arrival->kept[1]);
        if (!amg_arrival_leave(arrival, 1))
            return;
    }
    ep->transport->msg.release(ep, arrival);
}

/* Releases the encoded input and output of a call, and the message of its
 * reply. */
static inline void amg_handle_release_args(struct hg_handle *handle)
{
    if (handle->has_reply) {
        struct amg_ep *ep = amg_handle_ep(handle);

        handle->has_reply = false;
        ep->transport->msg.release_reply(ep, &handle->op);
    }
    amg_args_release(&handle->in);
    amg_args_release(&handle->out);
}

/* Queues the handle's entry for HG_Trigger(), or runs the entry here if the
 * operation has no callback. */
static inline void amg_handle_finish(struct hg_handle *handle)
{
    if (AMG_LIKELY(handle->callback != NULL))
        amg_context_queue(handle->info.context, &handle->entry);
    else
        handle->entry.run(&handle->entry);
}

/* Is the call at its target unanswered, or its answer being sent? */
static inline bool amg_unanswered_is_open(const struct hg_handle *handle)
{
    enum amg_handle_state state = amg_handle_state(handle);

    return state == AMG_HANDLE_RUNNING || state == AMG_HANDLE_REPLYING;
}

/* Takes a call off `unanswered`; the caller gets the answer's reference. False:
 * the call is not listed; another thread ends it or gives it up. */
bool amg_unanswered_claim(struct hg_handle *handle);
/* Returns a call whose answer could not be sent to RUNNING; if the program has
 * dropped the handle, lists the call in `unanswered` again. */
void amg_unanswered_again(struct hg_handle *handle);

/* Gives up the `unanswered` calls due at `now_ns`; AMG_CONTEXT_NEVER: all. */
void amg_unanswered_look(hg_context_t *context, uint64_t now_ns);

/* `write_state` of struct amg_context_ops. */
void amg_handles_write_state(hg_context_t *context, struct amg_state *state);

/* Create and free the RPC layer's part of a context. Open: HG_NOMEM. */
hg_return_t amg_rpc_context_open(hg_context_t *context);
void amg_rpc_context_close(hg_context_t *context);

/* For amg_rpc_class_attach(). */
extern const struct amg_rpc_handle_ops amg_serve_handle_ops;

/* Periodic check of the context: early requests, calls that nobody answers, and
 * origins that have not acknowledged a long answer. */
void amg_serve_look(hg_context_t *context, uint64_t now_ns);
/* A context has opened: context 0 begins ticks, by hang.c. */
void amg_hang_begin(hg_context_t *context);
/* Before the context is destroyed: ends the calls that wait for the
 * registration of their RPC, for room, or for an answer. */
void amg_serve_end(hg_context_t *context);

/* Adds a request whose arguments, handle->pull_len bytes, must be pulled when
 * there is room for them, now or later (order.c). False: no memory. */
bool amg_pulls_add(struct hg_handle *handle);
/* Frees the room of a call that is about to run, or whose pull failed. */
void amg_pulls_end(struct hg_handle *handle);
/* Refuses the requests that still wait for room, as the context ends. */
void amg_pulls_refuse(hg_context_t *context);

/* Looped calls: copies short arguments, AMG_SHORT_LEN bytes, into the handle
 * that receives them. */
static inline void amg_loop_bring(
    struct hg_handle *to, struct amg_args *args, const uint64_t *words)
{
    memcpy(to->looped.short_args, words, AMG_SHORT_LEN);
    args->data = to->looped.short_args;
}
/* Queues a looped call for its handler. Of AMG_SHORT_LEN bytes at `input`, the
 * first origin->in.len are the input. False: no memory, nothing has changed.
 * `origin` is in POSTED, and may be destroyed before the return. */
bool amg_serve_to_self(struct hg_handle *origin, const uint64_t *input);
/* Ends a looped call at its origin. */
static inline void amg_loop_end(struct hg_handle *target, hg_return_t ret)
{
    struct hg_handle *origin = target->looped.origin;

    AMG_ASSERT(origin != NULL);
    target->looped.origin = NULL;
    origin->op.ret = ret;
    amg_counters_add(&origin->info.context->counters, AMG_COUNT_REPLIES_CAME);
    origin->op.step(&origin->op);
}

/* Called while an answer with an error code in it is encoded: a group that the
 * call was made to counts this rank as failed. */
static inline void amg_handle_fail_member(
    struct hg_handle *handle, hg_return_t ret)
{
    if (handle->looped.origin != NULL && handle->looped.origin->is_group)
        handle->looped.origin->ret = ret;
}

/* Calls to groups (group.h) use these functions of calls: */

/* Is the handle idle, or has its call ended? Then frees the answer. HG_BUSY. */
hg_return_t amg_forward_renew(struct hg_handle *handle);
/* HG_Forward() of a handle of the library, whose `run` runs in progress. */
hg_return_t amg_forward_hidden(struct hg_handle *handle,
    void (*run)(struct amg_cq_entry *), void *in_struct);
/* Cancels the call of a handle that may be in flight. */
void amg_forward_cancel(struct hg_handle *handle);
/* Queues a call without a message for its handler. The answer goes to `origin`,
 * in whose `addr` and `info` the caller and the RPC are. The input is copied,
 * or with `may_take` its memory is moved. `run` runs in HG_Trigger(). False: no
 * memory. */
bool amg_serve_apart(struct hg_handle *origin, uint8_t from_context,
    struct amg_args *in, bool may_take, void (*run)(struct amg_cq_entry *));
/* Run the handler of a call: `run` of calls in general. The second function
 * counts the handler until it returns: quiet.c. */
void amg_serve_run(struct amg_cq_entry *entry);
void amg_serve_run_counted(struct amg_cq_entry *entry);
/* Answers a call in WAITING with a code in place of its handler. */
void amg_respond_instead(struct hg_handle *handle, hg_return_t ret);

/* Sends a control message of the library, of at most AMG_CONTROL_LEN bytes. On
 * an error it is not sent. */
hg_return_t amg_control_send(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, enum amg_control kind, const void *bytes,
    size_t len);

/* Finds the RPC of a valid request, after the program's callback for new
 * handles, and queues, pulls, keeps or refuses the request. */
void amg_begin(struct hg_handle *handle);
/* Frees the room of long arguments, as their handler begins. */
void amg_begin_long(struct hg_handle *handle);
/* Begins kept requests: those for RPCs that are registered now, in one context,
 * with `is_over` all others, too; in all contexts; or those that need not wait
 * any longer. */
void amg_begin_kept(hg_context_t *context, bool is_over);
void amg_begin_registered(hg_class_t *cls);
void amg_begin_look(hg_context_t *context);
/* Must requests for a registered RPC (0: any, as of calls through leaders) go
 * by amg_begin(), as others are kept? */
bool amg_begin_blocks(hg_context_t *context, hg_id_t id);

/* Handles a request that arrived: `arrived` of struct amg_context_ops. */
void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

/* May calls wait in lines, for long arguments, or in `early`? Relaxed: reasons
 * in order.c. */
static inline bool amg_order_has_lines(const hg_context_t *context)
{
    return (atomic_load_explicit(&context->gates, memory_order_relaxed) &
               ~AMG_CONTEXT_UNPOSTED) != 0;
}
/* Queues the entry of a call that has its arguments, behind the waiting calls
 * of its origin. */
void amg_order_queue(hg_context_t *context, const struct amg_peer *from,
    uint8_t origin_context, struct amg_cq_entry *entry);

/* One-way calls without a handle that have not left (oneway.c). */

/* Create and free `streams` of `rpc`. Opening may return HG_NOMEM. */
hg_return_t amg_streams_open(struct amg_rpc_context *rpc);
void amg_streams_close(struct amg_rpc_context *rpc);
/* `send_unsent` of struct amg_context_ops. */
hg_return_t amg_streams_send(hg_context_t *context, bool is_final);
/* Drops the one-way calls that still wait: the context ends. */
void amg_streams_abandon(hg_context_t *context);
struct amg_relayed;
/* Sends a call of `len` bytes to the next rank on its way through leaders.
 * HG_AGAIN: earlier messages wait for credits; else as forward_oneway(). */
hg_return_t amg_streams_add(
    hg_context_t *context, const struct amg_relayed *call, uint32_t len);

/* Calls that leaders pass on (relay.c): `direct_end` of a context. */
size_t amg_relay_direct_end(const hg_class_t *cls);
/* Takes a message of calls to other ranks. False: the calls are to this rank,
 * for the handler `*ret_rpc`, or for handles (NULL). */
bool amg_relay_take(hg_context_t *context, unsigned route,
    struct amg_arrival *arrival, struct amg_rpc **ret_rpc);
/* Goes on with messages that wait; AMG_CONTEXT_NEVER: for the last time. */
void amg_relay_look(hg_context_t *context, uint64_t now_ns);

/* HG_Respond() for a handle of an incoming call, for a caller that waits for
 * the callback. `*is_over`: the answer has left, and no callback follows. */
hg_return_t amg_respond(struct hg_handle *handle, hg_cb_t callback, void *arg,
    void *out_struct, bool *is_over);

/* Answers a call with a code and no arguments, and counts the reply. */
hg_return_t amg_respond_code(struct hg_handle *handle, hg_return_t ret);

/* Refuses a call that the user never sees: answers with the code `ret`, logs
 * the reason, and ends the handle. */
void amg_respond_refuse(
    struct hg_handle *handle, hg_return_t ret, const char *why);

/* The user dropped a call without an answer: sends HG_CANCELED unless the call
 * is one-way, so that the origin does not wait forever, and ends the handle. */
void amg_respond_for_user(struct hg_handle *handle);

/* At the origin: tells `to` that its long reply with `token` was pulled, or
 * will not be. */
void amg_respond_send_ack(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, uint64_t token);
/* At the target: handles the ACK for the reply with `token`. */
void amg_respond_take_ack(
    hg_context_t *context, const struct hg_addr *from, uint64_t token);
/* At the origin: answers the probe of a target. */
void amg_respond_to_probe(struct hg_handle *probe);

/* HG_Cancel() of an answer: cancels the send, or ends the wait for the ACK. */
void amg_respond_cancel(struct hg_handle *handle);

/* Probes the origins that have not acknowledged a long answer in time. */
void amg_respond_look(hg_context_t *context, uint64_t now_ns);

/* Ends all waits for ACKs, before the context is destroyed. */
void amg_respond_abandon(hg_context_t *context);

/* Traces a context that has opened, if a trace runs. */
void amg_traced_take(hg_context_t *context);
/* Compares the clock of this node with that of rank 0, if this rank is to.
 * Accepts NULL. */
void amg_traced_ask(hg_context_t *context);
/* amg_traced_ask() when it is time to; called by the periodic check. */
void amg_traced_look(hg_context_t *context, uint64_t now_ns);
/* A control message AMG_CONTROL_CLOCK has come in. */
void amg_traced_told(const struct hg_handle *handle, const void *bytes);

#endif
