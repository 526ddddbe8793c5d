/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: one endpoint of every open transport, and one completion queue. */
#ifndef AMG_CORE_CONTEXT_H
#define AMG_CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bias.h"
#include "base/clock.h"
#include "base/process.h"
#include "core/class.h"
#include "core/cq.h"
#include "core/wakeup.h"
#include "transport/op.h"

/* A time that never comes. */
#define AMG_CONTEXT_NEVER UINT64_MAX

struct amg_pool;
struct amg_rpc_context;
struct amg_state;

/* Functions of the layers above. */
struct amg_context_ops {
    /* Handles a request that arrived, and makes sure that the arrival is
     * released. Runs in progress with no lock held. */
    void (*arrived)(
        hg_context_t *context, unsigned route, struct amg_arrival *arrival);
    /* Periodic check; called at the time that amg_context_look_at() set. */
    void (*look)(hg_context_t *context, uint64_t now_ns);
    /* Sends the messages of `unsent` that can leave; if `is_final`, queues all
     * other messages in the drivers. HG_NOMEM: a message stays unsent. */
    hg_return_t (*send_unsent)(hg_context_t *context, bool is_final);
    /* Adds to the report how many calls wait, and for what. */
    void (*write_state)(hg_context_t *context, struct amg_state *state);
    /* Create and free `rpc` and `transfers`. HG_NOMEM: nothing was created. */
    hg_return_t (*open)(hg_context_t *context);
    void (*close)(hg_context_t *context);
};

/* The endpoint that is polled rarely; see progress.c. Fields that are neither
 * constant nor atomic are the progress owner's. */
struct amg_context_rare {
    unsigned route;        /* AMG_ROUTE_COUNT: no rare endpoint. Constant */
    unsigned skipped;      /* polls since the endpoint was last checked */
    unsigned quiet;        /* checks in a row that found nothing */
    bool is_user_bound;    /* library threads skip the route. Constant */
    atomic_bool is_wanted; /* the next poll must check; a hint, so relaxed */
};

/* Threads that run incoming requests and their follow-up callbacks. */
enum amg_serve {
    AMG_SERVE_TRIGGER, /* HG_Trigger(), like all other callbacks */
    AMG_SERVE_THREAD,  /* the progress thread, and HG_Trigger() */
};

/* Owned by the user between HG_Context_create() and HG_Context_destroy(). */
struct hg_context {
    /* Results of a poll by the progress owner; empty between polls. First
     * member, so that a poll adds no offset; the attic later uses its bytes. */
    struct amg_events events;
    hg_class_t *cls;     /* NULL: destroyed, or inherited */
    hg_class_t *parents; /* inherited: class of the parent; else NULL */
    uint8_t id;
    struct amg_ep *eps[AMG_ROUTE_COUNT]; /* NULL: route not open */
    unsigned open[AMG_ROUTE_COUNT];      /* the open routes */
    unsigned open_count;
    bool is_reported; /* endpoints are open; see amg_report_set() */
    /* Endpoints that every poll checks, then NULL: those of the first routes of
     * `open`, in that order. Constant. */
    struct amg_ep *hot[AMG_ROUTE_COUNT + 1];
    /* Routes whose endpoints hold messages back until a poll, so that further
     * calls share them; the counts of such messages, then NULL. Constant. */
    unsigned keeping[AMG_ROUTE_COUNT];
    const atomic_uint *keeps[AMG_ROUTE_COUNT + 1];
    struct amg_context_rare rare;
    struct amg_context_ops ops;  /* constant */
    struct amg_rpc_context *rpc; /* of the RPC layer; constant */
    struct amg_pool *transfers;  /* of the bulk layer; constant */
    struct amg_cq cq;
    struct amg_cq
        incoming; /* incoming calls, unless HG_Trigger() alone runs them */
    enum amg_serve
        incoming_mode; /* changes only while no thread runs incoming calls */
    /* In AMG_SERVE_THREAD: amg_role of the thread that runs incoming calls, or
     * NULL if none does; see context.c. */
    _Atomic(struct amg_role *) turn;
    struct amg_service_thread *thread; /* the progress thread; NULL: none */
    struct amg_wakeup wakeup;
    struct amg_bias owner; /* held by the progress owner; core/progress.h */
    /* Counts progress calls of the program: a hint, so relaxed, for
     * rpc/oneway.c and for the progress thread, which stands by while the count
     * changes. */
    atomic_uint turns;
    unsigned serial; /* unique in the process; constant */
    /* Counts calls of amg_context_ring() and, where several threads run
     * callbacks, calls of HG_Trigger() that ran callbacks. A change ends waits,
     * because the program may wait for what a callback wrote: the release of a
     * change pairs with the acquire of the wait. */
    atomic_uint ran;
    atomic_bool has_run; /* a thread has run callbacks; see progress.c */
    uint64_t opened_ns;  /* constant */
    /* Not 0: arrivals need further checks. The bit AMG_CONTEXT_UNPOSTED of
     * HG_Context_unpost(), plus the number of origins whose calls wait in
     * rpc/order.c, plus the number of requests that rpc/begin.c keeps. */
    atomic_uint gates;
    uint64_t spin_ns; /* how long a wait polls before it blocks; constant */
    uint64_t nap_ns;  /* longest time that a wait blocks, because drivers log
                         silent peers when they are polled; constant */
    /* Handles that still exist, of calls made here and of incoming calls. */
    struct amg_tally handles;
    /* Operations counted by amg_context_enter(). */
    struct amg_tally in_flight;
    struct amg_counters counters;
    /* A bit for each message of the layer above that waits for more calls;
     * threads that make progress or have run callbacks send these messages.
     * Dekker: a sender stores `unsent`, fences, reads `waiting` of `cq`; a
     * thread that will block stores `waiting`, fences, reads `unsent`: so the
     * sender or that thread sends the message at once. */
    _Atomic(uint64_t) unsent;
    /* From this time on, a thread that makes progress or runs callbacks calls
     * `ops.look`, once. A hint, so relaxed. */
    atomic_uint_fast64_t look_ns;
    void *data; /* user data */
    void (*data_free)(void *);
};

_Static_assert(offsetof(hg_context_t, cls) >= 2 * sizeof(void *),
    "the words that the attic uses");

/* The class of a context, also of an inherited context; NULL: destroyed. */
static inline hg_class_t *amg_context_class(const hg_context_t *context)
{
    return context->cls != NULL ? context->cls : context->parents;
}

/* Bit of `gates`: the context refuses requests that arrive. */
#define AMG_CONTEXT_UNPOSTED (1u << 31)

static inline bool amg_context_is_unposted(const hg_context_t *context)
{
    return (atomic_load_explicit(&context->gates, memory_order_acquire) &
               AMG_CONTEXT_UNPOSTED) != 0;
}

/* Checks a context passed in by the program. */
#define AMG_CONTEXT_OK(context)                                                \
    AMG_OURS((context) != NULL && (context)->cls != NULL,                      \
        (context)->parents != NULL, "context", (context))
/* Checks a context passed to a call that only reads; it may be inherited. */
#define AMG_CONTEXT_EXISTS(context)                                            \
    AMG_ALIVE((context) != NULL && amg_context_class(context) != NULL,         \
        "context", (context))

hg_return_t amg_context_open(hg_class_t *cls, uint8_t id,
    const struct amg_context_ops *ops, hg_context_t **ret_context);

/* Frees a context: posted operations complete with HG_CANCELED, and their steps
 * run; then the queued entries run, also those that the steps queued. */
void amg_context_close(hg_context_t *context);

/* Counts an operation that must end before the context may be destroyed. */
static inline void amg_context_enter(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, 1);
}

static inline void amg_context_leave(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, -1);
}

/* Queues an incoming call for the progress thread; HG_Trigger() may take the
 * call, too. */
void amg_context_queue_apart(hg_context_t *context, struct amg_cq_entry *entry);

/* amg_context_queue_apart() in front of all queued calls. */
void amg_context_queue_first_apart(
    hg_context_t *context, struct amg_cq_entry *entry);

/* Queues a callback for the threads that may run it. */
static AMG_INLINE void amg_context_queue(
    hg_context_t *context, struct amg_cq_entry *entry)
{
    if (!AMG_LIKELY(context->incoming_mode == AMG_SERVE_TRIGGER) &&
        entry->is_incoming)
        amg_context_queue_apart(context, entry);
    else
        amg_cq_push(&context->cq, entry);
}

/* Called by the thread that took an entry out: puts the entry back in front. */
static AMG_INLINE void amg_context_queue_first(
    hg_context_t *context, struct amg_cq_entry *entry)
{
    if (!AMG_LIKELY(context->incoming_mode == AMG_SERVE_TRIGGER) &&
        entry->is_incoming)
        amg_context_queue_first_apart(context, entry);
    else
        amg_cq_push_first(&context->cq, entry);
}

/* May the calling thread run incoming calls? No, while another thread has the
 * turn (context.c). The fence pairs with the fence at the end of a turn. */
static inline bool amg_context_may_turn(const hg_context_t *context)
{
    const struct amg_role *turn = NULL;

    if (context->incoming_mode != AMG_SERVE_THREAD)
        return true;
    atomic_thread_fence(memory_order_seq_cst);
    turn = atomic_load_explicit(&context->turn, memory_order_acquire);
    return turn == NULL || turn == &amg_role;
}

/* Is there a callback that the calling thread may run? */
static inline bool amg_context_has_due(const hg_context_t *context)
{
    if (AMG_LIKELY(amg_cq_is_empty(&context->cq) &&
                   amg_cq_is_empty(&context->incoming)))
        return false;
    if (!amg_role.is_library_thread && !amg_cq_is_empty(&context->cq))
        return true;
    return !amg_cq_is_empty(&context->incoming) &&
           amg_context_may_turn(context);
}

/* Takes out an incoming call; NULL: none, or another thread has the turn. If no
 * thread has the turn, runs the call here, and returns a no-op entry. */
struct amg_cq_entry *amg_context_take_incoming(hg_context_t *context);

/* Takes out a callback that the calling thread may run, or returns NULL. */
static AMG_INLINE struct amg_cq_entry *amg_context_take_due(
    hg_context_t *context)
{
    struct amg_cq_entry *entry = NULL;

    if (AMG_LIKELY(!amg_role.is_library_thread))
        entry = amg_cq_pop(&context->cq);
    if (AMG_LIKELY(entry != NULL) || amg_cq_is_empty(&context->incoming))
        return entry;
    return amg_context_take_incoming(context);
}

/* Runs a callback, from which a ULT may return on another OS thread. */
static inline void amg_context_run(struct amg_cq_entry *entry)
{
    struct amg_role was = amg_role;

    amg_role.is_serving = entry->is_incoming;
    amg_role.is_running = true;
    amg_role.has_posted = false;
    entry->run(entry);
    amg_role.is_serving = was.is_serving;
    amg_role.is_running = was.is_running;
}

/* Any thread. Ends waits in amg_progress_wait(), also a wait that is about to
 * begin: they return HG_SUCCESS, as the program has other work. */
void amg_context_ring(hg_context_t *context);

/* Runs a callback on a service thread, then ends the waits in HG_Progress():
 * the program may wait for what the callback did. */
void amg_context_run_by_service_thread(
    hg_context_t *context, struct amg_cq_entry *entry);

/* Has the program made progress, or had enough time to start? */
static inline bool amg_context_is_ready(const hg_context_t *context)
{
    return atomic_load_explicit(&context->turns, memory_order_relaxed) != 0 ||
           amg_clock_ns() - context->opened_ns > 5000 * AMG_NS_PER_MS;
}

/* Requests `ops.look` at `at_ns`; 0: as soon as possible. Wakes a sleeping
 * thread that would miss the time. */
void amg_context_look_at(hg_context_t *context, uint64_t at_ns);
/* Runs `ops.look`, if its time has come. */
void amg_context_look(hg_context_t *context, uint64_t now_ns);

/* By the owner, every 250 ms: writes the counters of the class to the status
 * page. */
void amg_context_show(hg_context_t *context, uint64_t now_ns);

/* By the owner: reads the clock, and stores the time of this progress in the
 * status page. */
static inline uint64_t amg_context_clock_ns(hg_context_t *context)
{
    uint64_t now_ns = amg_clock_ns();

    amg_status_stamp(amg_context_class(context)->job.status, now_ns);
    if (!AMG_LIKELY(now_ns < context->wakeup.show_ns))
        amg_context_show(context, now_ns);
    return now_ns;
}

/* Time of the next `ops.look`. */
static inline uint64_t amg_context_look_ns(const hg_context_t *context)
{
    return atomic_load_explicit(&context->look_ns, memory_order_relaxed);
}

/* Before other threads use the context: begins ticks, by which `ops.look` runs
 * some times a second. */
void amg_context_begin_ticks(hg_context_t *context);
/* By the owner: time until which a wait may block at most, for `ops.look`.
 * While operations are in flight no wait misses a tick. */
static inline uint64_t amg_context_wake_ns(hg_context_t *context)
{
    const struct amg_wakeup *wakeup = &context->wakeup;
    uint64_t look_ns = amg_context_look_ns(context);

    return wakeup->has_ticks && wakeup->show_ns < look_ns &&
                   amg_tally_sum(&context->in_flight) > 0
               ? wakeup->show_ns
               : look_ns;
}

/* Runs `ops.look` if due, unless a thread of the library calls. */
static inline void amg_context_drive(hg_context_t *context)
{
    if (!AMG_LIKELY(amg_context_look_ns(context) == AMG_CONTEXT_NEVER) &&
        !amg_role.is_library_thread)
        amg_context_look(context, amg_clock_ns());
}

/* Sends the messages of `unsent`, as far as they can leave now. */
static inline void amg_context_send_unsent(hg_context_t *context)
{
    if (!AMG_LIKELY(
            atomic_load_explicit(&context->unsent, memory_order_relaxed) == 0))
        (void)context->ops.send_unsent(context, false);
}
/* Sends `unsent`, which the next call must not overtake. HG_NOMEM: not sent. */
static inline hg_return_t amg_context_send_before(hg_context_t *context)
{
    return AMG_LIKELY(atomic_load_explicit(
                          &context->unsent, memory_order_relaxed) == 0)
               ? HG_SUCCESS
               : context->ops.send_unsent(context, true);
}

/* Do endpoints hold messages back, for further calls to share? */
static inline bool amg_context_keeps(const hg_context_t *context)
{
    for (unsigned i = 0; context->keeps[i] != NULL; i++)
        if (!AMG_LIKELY(atomic_load_explicit(
                            context->keeps[i], memory_order_relaxed) == 0))
            return true;
    return false;
}

/* Is there nothing for HG_Trigger() to run, look at or send? */
static inline bool amg_context_is_idle(const hg_context_t *context)
{
    return amg_cq_is_empty(&context->cq) &&
           amg_cq_is_empty(&context->incoming) &&
           amg_context_look_ns(context) == AMG_CONTEXT_NEVER &&
           atomic_load_explicit(&context->unsent, memory_order_relaxed) == 0 &&
           !amg_context_keeps(context);
}

static inline struct amg_ep *amg_context_ep(
    const hg_context_t *context, unsigned route)
{
    return context->eps[route];
}

/* By the owner: restarts the quiet time of waits, because a peer continues an
 * operation of this process, although no event was reported. */
static inline void amg_context_moved(hg_context_t *context)
{
    unsigned moves =
        atomic_load_explicit(&context->wakeup.moves, memory_order_relaxed);

    atomic_store_explicit(
        &context->wakeup.moves, moves + 1u, memory_order_relaxed);
    context->wakeup.quiet_since_ns = 0;
    context->rare.quiet = 0;
}

/* Called after a post or cancel: wakes blocked threads, because only progress
 * of this context sees the end of the operation. A thread that will block first
 * announces that, then checks for posts under the driver's lock, which a post
 * takes: so that thread sees the post, or the poster sees the announcement. */
static inline void amg_context_posted(hg_context_t *context, unsigned route)
{
    if (route == context->rare.route)
        atomic_store_explicit(
            &context->rare.is_wanted, true, memory_order_relaxed);
    if (!atomic_load_explicit(
            &context->wakeup.was_posted, memory_order_relaxed))
        atomic_store_explicit(
            &context->wakeup.was_posted, true, memory_order_relaxed);
    if (amg_cq_has_armed(&context->cq))
        amg_cq_wake_armed(&context->cq);
}

/* Runs the step of each operation that has ended; empties the list. */
static inline void amg_context_step_all(struct amg_list *done)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
}

/* Adds the counters of all contexts, open or closed, and of the drivers to
 * `sums`; returns the number of handles that exist. */
int amg_context_sum_all(hg_class_t *cls, uint64_t sums[AMG_COUNTERS]);

#endif
