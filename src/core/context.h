/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: one endpoint of every open transport, and one completion queue. */
#ifndef AMG_CORE_CONTEXT_H
#define AMG_CORE_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bias.h"
#include "base/map.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/role.h"
#include "core/class.h"
#include "core/cq.h"
#include "core/wakeup.h"
#include "transport/op.h"

/* What the floor above does when the moment has come that it named. */
typedef void (*amg_look_fn)(hg_context_t *context, uint64_t now_ns);

/* The moment that never comes. */
#define AMG_CONTEXT_NEVER UINT64_MAX

/* What the floor above does with a request that came in. Runs in progress, no
 * lock is held; it must see to it that the arrival is released. */
typedef void (*amg_arrival_fn)(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival);

/* The endpoint that is not looked at in every poll; see progress.c. What has no
 * word of its own is the progress owner's. */
struct amg_context_rare {
    unsigned route;        /* AMG_ROUTE_COUNT: none. Constant */
    unsigned skipped;      /* polls since the last look */
    unsigned quiet;        /* looks that found nothing */
    bool is_user_bound;    /* threads of ours leave it alone. Constant */
    atomic_bool is_wanted; /* something was posted; a hint, so relaxed */
};

/* Who runs what a peer asked for, and what came of that. */
enum amg_serve {
    AMG_SERVE_TRIGGER, /* HG_Trigger(), with all the rest */
    AMG_SERVE_THREAD,  /* the progress thread, and HG_Trigger() */
    AMG_SERVE_POOL,    /* the handler threads alone */
};

/* Long arguments of calls that have not run yet; see rpc/serve.c. */
struct amg_context_pulls {
    struct amg_list waiting; /* calls for which there is no room now */
    uint64_t cap;            /* bytes; constant */
    uint64_t len;            /* bytes of those that have their room */
    uint64_t peak;           /* the most they ever had */
    bool is_starting;        /* a thread is about to start pulls */
};

/* Bytes of an object in the pool of transfers: what the bulk floor needs for
 * one, which checks it. */
enum { AMG_CONTEXT_TRANSFER_LEN = 384 };

/* Owned by the user between HG_Context_create() and HG_Context_destroy(). */
struct hg_context {
    struct amg_link kept; /* the attic's, once it is gone */
    hg_class_t *cls;      /* NULL: it is gone */
    uint8_t id;
    struct amg_ep *eps[AMG_ROUTE_COUNT]; /* NULL: route not open */
    unsigned open[AMG_ROUTE_COUNT];      /* the routes that are */
    unsigned open_count;
    unsigned hot_count; /* the first of `open` are looked at in every poll */
    struct amg_context_rare rare;
    amg_arrival_fn arrived;
    struct amg_news news; /* of a poll, by its owner; else empty */
    struct amg_cq cq;
    struct amg_cq
        served; /* calls served, unless HG_Trigger() alone runs them */
    enum amg_serve serve_by; /* changes only while no thread of ours runs */
    struct amg_service_threads *crew; /* the threads of ours; NULL: none */
    struct amg_wakeup sleep;
    struct amg_bias owner; /* who makes progress has it; core/progress.h */
    atomic_uint awaiting;  /* threads that wait to be the next owner */
    /* Counts calls that made progress, or would have; relaxed, a hint for the
     * progress thread, which leaves them to it. */
    atomic_uint turns;
    /* Handlers of the threads of ours that wait in HG_Progress(). Its seq_cst
     * change pairs with the fence in amg_context_queue_apart(). */
    atomic_uint nested;
    /* Names it as long as the process lives; constant. */
    unsigned serial;
    /* Counts callbacks that threads of ours ran. Its release pairs with the
     * acquire of a wait, which ends by it: what the callback wrote may be what
     * the program waits for. */
    atomic_uint ran;
    uint64_t opened_ns; /* constant */
    /* Set by HG_Context_unpost(): requests are refused from then on. */
    atomic_bool is_unposted;
    uint64_t spin_ns; /* how long a wait looks before it sleeps; constant */
    /* Handles made here that still live; user's and in flight. */
    struct amg_tally handles;
    /* Operations in flight: handles and bulk. */
    struct amg_tally in_flight;
    struct amg_counters counters;
    struct amg_pool transfers;      /* the bulk floor's */
    struct amg_list upper;          /* the rpc floor's; guarded by upper_lock */
    struct amg_map acks;            /* the same; see rpc/respond.c */
    struct amg_list early;          /* the same; see rpc/serve.c */
    struct amg_list unanswered;     /* the same; see rpc/handle.c */
    struct amg_context_pulls pulls; /* the same */
    struct amg_lock upper_lock;
    /* Run by who makes progress, or has run a callback, from the moment on that
     * amg_context_look_at() names. A hint, so relaxed. */
    amg_look_fn look; /* constant */
    atomic_uint_fast64_t look_ns;
    void *data; /* the user's */
    void (*data_free)(void *);
};

/* Is it one that is there? By the functions that programs call. */
#define AMG_CONTEXT_OK(context)                                                \
    AMG_ALIVE((context) != NULL && (context)->cls != NULL, "context", (context))

hg_return_t amg_context_open(hg_class_t *cls, uint8_t id,
    amg_arrival_fn arrived, hg_context_t **ret_context);

/* All that was posted completes with HG_CANCELED, its steps run, and the
 * context is freed. Entries the steps queue are run too. */
void amg_context_close(hg_context_t *context);

/* In a child of fork(), which alone is left of all threads: what the others
 * held is free again. */
void amg_context_forget_threads(hg_context_t *context);

/* One operation more, or less, that must end before the context may go. */
static inline void amg_context_enter(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, 1);
}

static inline void amg_context_leave(hg_context_t *context)
{
    amg_tally_add(&context->in_flight, -1);
}

/* For the threads that serve; HG_Trigger(), too, unless they are handlers. */
void amg_context_queue_apart(hg_context_t *context, struct amg_cq_entry *entry);

/* Queues a callback for those who are to run it. */
static inline void amg_context_queue(
    hg_context_t *context, struct amg_cq_entry *entry)
{
    if (entry->is_served && context->serve_by != AMG_SERVE_TRIGGER)
        amg_context_queue_apart(context, entry);
    else
        amg_cq_push(&context->cq, entry);
}

/* Is there a callback that the calling thread may run? */
static inline bool amg_context_has_due(const hg_context_t *context)
{
    if (!amg_role.is_library_thread && !amg_cq_is_empty(&context->cq))
        return true;
    return (amg_role.is_library_thread ||
               context->serve_by != AMG_SERVE_POOL) &&
           !amg_cq_is_empty(&context->served);
}

/* Takes one of them out, or NULL. */
struct amg_cq_entry *amg_context_take_due(hg_context_t *context);

/* Runs one, for whom it is. */
void amg_context_run(struct amg_cq_entry *entry);

/* Ends the wait of whoever is in amg_progress_wait(), also the one that it is
 * about to begin, which then says HG_SUCCESS: the program has something else to
 * do. By any thread. */
void amg_context_ring(hg_context_t *context);

/* By a thread of ours; who waits in HG_Progress() looks whether that was what
 * it waited for. */
void amg_context_run_by_ours(hg_context_t *context, struct amg_cq_entry *entry);

/* Has the program made progress, or had time enough to get there? */
bool amg_context_is_ready(const hg_context_t *context);

/* The floor above wants to look once that moment has come; 0: at the next
 * occasion. Ends the sleep of who would miss it. */
void amg_context_look_at(hg_context_t *context, uint64_t at_ns);
/* Lets it, if the moment has come. */
void amg_context_look(hg_context_t *context, uint64_t now_ns);

/* When that is. */
static inline uint64_t amg_context_look_ns(const hg_context_t *context)
{
    return atomic_load_explicit(&context->look_ns, memory_order_relaxed);
}

/* By who makes progress, or runs callbacks. */
static inline void amg_context_drive(hg_context_t *context)
{
    if (!AMG_LIKELY(amg_context_look_ns(context) == AMG_CONTEXT_NEVER) &&
        !amg_role.is_library_thread)
        amg_context_look(context, amg_clock_ns());
}

/* The endpoint of a route, with its tables. */
static inline struct amg_ep *amg_context_ep(
    const hg_context_t *context, unsigned route)
{
    return context->eps[route];
}

/* By the owner: a peer goes on with something here, though there are no news of
 * it. No wait is to think that nothing comes. */
static inline void amg_context_moved(hg_context_t *context)
{
    unsigned moves =
        atomic_load_explicit(&context->sleep.moves, memory_order_relaxed);

    atomic_store_explicit(
        &context->sleep.moves, moves + 1u, memory_order_relaxed);
    context->sleep.quiet_since_ns = 0;
    context->rare.quiet = 0;
}

/* Something was posted, or cancelled: what has ended by that is seen only by
 * this context's progress, which may be asleep. Who is about to sleep announces
 * it first, and then looks for posts under the lock that a post takes: so
 * either it sees the post, or this sees the announcement. */
static inline void amg_context_posted(hg_context_t *context, unsigned route)
{
    if (route == context->rare.route)
        atomic_store_explicit(
            &context->rare.is_wanted, true, memory_order_relaxed);
    if (!atomic_load_explicit(&context->sleep.was_posted, memory_order_relaxed))
        atomic_store_explicit(
            &context->sleep.was_posted, true, memory_order_relaxed);
    if (amg_cq_has_armed(&context->cq))
        amg_cq_wake(&context->cq);
}

/* Runs the step of each operation that has ended; empties the list. */
void amg_context_step_all(struct amg_list *done);

/* Adds what all contexts counted to `sums`; returns how many handles live. */
int amg_context_sum_all(hg_class_t *cls, uint64_t sums[AMG_COUNTERS]);

#endif
