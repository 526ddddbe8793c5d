/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a context: polls, waits and callbacks. */
#include "core/progress.h"

#include <sched.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "core/context.h"
#include "core/wait_policy.h"
#include "core/wakeup.h"
#include "mercury_context.h"

/* A poll of MPI takes 125 ns, all other polling 16 ns (two ranks, ch4:ucx). So
 * beside shared memory MPI is the rare endpoint: every poll checks MPI from a
 * post or an event until RARE_AFTER checks in a row found nothing (about a
 * millisecond); after that, one poll in RARE_EVERY checks MPI. So the answer of
 * a call that takes longer may be found RARE_EVERY polls late, less than a
 * microsecond. If libfabric leads to the ranks of other nodes, and MPI to no
 * peer, then libfabric is the rare endpoint, and no poll checks MPI: MPI makes
 * progress while ranks open the class (amg_node_ops.joined), and while they
 * close the class (amg_class_quiesce()). */

enum {
    POLL_MAX = 128,    /* events of a poll; 128 delay HG_Trigger() by 30 us */
    RARE_AFTER = 4096, /* polls of the rare endpoint without event */
    RARE_EVERY = 16,   /* without traffic, a poll takes 8 ns more on average */
};

/* Runs the steps of the operations that a poll has ended; hands on arrivals. */
static AMG_INLINE void events_hand_on(hg_context_t *context, unsigned route)
{
    struct amg_events *events = &context->events;
    struct amg_link *link = NULL;

    amg_context_step_all(&events->done);
    while ((link = amg_list_pop(&events->arrived)) != NULL)
        context->ops.arrived(
            context, route, amg_container_of(link, struct amg_arrival, link));
}

/* Polls an endpoint. True: there are events, which the caller must hand on. */
static AMG_INLINE bool ep_look(hg_context_t *context, struct amg_ep *ep)
{
    return (ep->pending == NULL ||
               atomic_load_explicit(ep->pending, memory_order_relaxed) != 0) &&
           ep->transport->ep.poll(ep, POLL_MAX, &context->events) > 0;
}

/* Polls an endpoint, and hands on its events; `events` is empty before. */
static bool ep_poll(hg_context_t *context, struct amg_ep *ep, unsigned route)
{
    if (!ep_look(context, ep))
        return false;
    events_hand_on(context, route);
    return true;
}

/* Polls the rare endpoint every time while it has traffic, else one time in
 * RARE_EVERY. */
AMG_NOINLINE static bool rare_poll(hg_context_t *context)
{
    struct amg_context_rare *rare = &context->rare;
    bool has_found = false;

    if (rare->is_user_bound && amg_role.is_library_thread)
        return false;
    if (atomic_load_explicit(&rare->is_wanted, memory_order_relaxed)) {
        atomic_store_explicit(&rare->is_wanted, false, memory_order_relaxed);
        rare->quiet = 0;
    } else if (rare->quiet == RARE_AFTER && ++rare->skipped < RARE_EVERY) {
        return false;
    }
    rare->skipped = 0;
    has_found = ep_poll(context, context->eps[rare->route], rare->route);
    if (has_found)
        rare->quiet = 0;
    else if (rare->quiet < RARE_AFTER)
        rare->quiet++;
    return has_found;
}

/* The rest of a poll, after the endpoints that every poll checks. */
static AMG_INLINE bool poll_end(hg_context_t *context)
{
    bool has_found = !AMG_LIKELY(context->rare.route == AMG_ROUTE_COUNT) &&
                     rare_poll(context);

    if (!AMG_LIKELY(!context->events.has_moved)) {
        context->events.has_moved = false;
        amg_context_moved(context);
    }
    return has_found;
}

/* The rest of a poll after hot_look() found events at `hot`. */
static AMG_INLINE void found_poll(
    hg_context_t *context, struct amg_ep *const *hot)
{
    events_hand_on(context, context->open[hot - context->hot]);
    while (*++hot != NULL)
        (void)ep_poll(context, *hot, context->open[hot - context->hot]);
    (void)poll_end(context);
}

/* The first endpoint with events, which the caller must hand on, or NULL. */
static AMG_INLINE struct amg_ep *const *hot_look(hg_context_t *context)
{
    for (struct amg_ep *const *hot = context->hot; *hot != NULL; hot++)
        if (ep_look(context, *hot))
            return hot;
    return NULL;
}

bool amg_progress_poll(hg_context_t *context)
{
    struct amg_ep *const *hot = hot_look(context);

    if (hot == NULL)
        return poll_end(context);
    found_poll(context, hot);
    return true;
}

/* The owner, a single thread, makes progress in a context; other threads wait
 * in a list of the completion queue until an entry is queued or the owner
 * leaves. core/wait_policy.c decides what the owner does between two polls, by
 * the time since the last event or post (the quiet time), which may have begun
 * in an earlier call: so a program that waits for 1 ms at a time sleeps, too.
 *
 * An owner that polls on the core of a peer keeps that peer from sending. So
 * after some empty polls the owner asks its drivers whether a peer shares its
 * core; if so, the owner yields a few times, then blocks, and the next wait
 * asks the drivers already after its first poll. */

enum {
    CLOCK_EVERY = 32,    /* polls between two reads of the clock */
    NAP_EVERY = 4,       /* polls after a nap: some transports need several */
    YIELD_EVERY = 256,   /* polls between two yields, on an unshared core */
    CROWD_AFTER = 64,    /* polls before the drivers are asked, about 2 us */
    CROWD_AFTER_ONE = 1, /* CROWD_AFTER, if the last wait's core was shared */
    CROWD_YIELDS = 3,    /* yields on a shared core before the owner blocks */
    OWN_TRIES = 100,     /* 1 to 5 us: time for a progress thread to leave */
    SEEN = 64,           /* contexts whose `ran` a thread remembers */
};

/* State of a wait of the progress owner. */
struct wait {
    struct amg_wait_policy policy;
    uint64_t deadline_ns;
    unsigned polls;
    unsigned rest_at;  /* poll after which the clock is read */
    unsigned yield_at; /* poll after which the core is yielded */
    unsigned ask_at; /* poll after which the drivers are asked about the core */
    unsigned yields; /* yields so far on a core that a peer wants */
    unsigned epoch;  /* epoch of the queue before the last poll */
    unsigned ran;    /* context->ran before the last ran_is_news() */
    bool has_ran;    /* result of the last ran_is_news() */
};

/* Value of context->ran that a thread saw last, in this wait or an earlier one:
 * another thread may run the awaited callback before the wait begins. */
struct seen {
    unsigned serial;
    unsigned ran;
};

static _Thread_local struct seen seen[SEEN]
    __attribute__((tls_model("initial-exec")));

/* Did another thread run callbacks, or call amg_context_ring(), since the
 * calling thread last checked? HG_Trigger() adds to `ran` only once the lock of
 * the queue is shared, which the first check of a second thread causes. That
 * check learns of earlier callbacks from `has_run`. */
static bool ran_is_news(hg_context_t *context)
{
    struct seen *mine = &seen[context->serial % SEEN];
    bool is_first = mine->serial != context->serial;
    unsigned ran = 0;

    if (!AMG_LIKELY(!is_first)) {
        amg_bias_lock(&context->cq.lock);
        amg_bias_unlock(&context->cq.lock);
    }
    ran = atomic_load_explicit(&context->ran, memory_order_acquire);
    if (!is_first && ran == mine->ran)
        return false;
    mine->serial = context->serial;
    mine->ran = ran;
    return !is_first || ran != 0 ||
           (amg_bias_is_shared(&context->cq.lock) &&
               atomic_load_explicit(&context->has_run, memory_order_relaxed));
}

/* The calling thread has run callbacks: ends the waits of other threads, which
 * may wait for what a callback did. Dekker: this thread adds to `ran`, reads
 * `waiting` (seq_cst); a thread that will sleep stores `waiting`, fences, reads
 * `ran`. So one thread sees the store of the other. */
AMG_NOINLINE static void ran_tell(hg_context_t *context)
{
    unsigned before =
        atomic_fetch_add_explicit(&context->ran, 1u, memory_order_seq_cst);
    struct seen *mine = &seen[context->serial % SEEN];

    /* Changes of `ran` that this thread has not seen yet stay news. */
    if (before == (mine->serial == context->serial ? mine->ran : 0)) {
        mine->serial = context->serial;
        mine->ran = before + 1u;
    }
    if (amg_cq_is_heeded(&context->cq))
        amg_cq_ring(&context->cq);
}

/* Wakes the progress thread for incoming calls that the program has not run. */
static void incoming_leave(hg_context_t *context)
{
    if (context->thread != NULL && context->incoming_mode == AMG_SERVE_THREAD &&
        !amg_role.is_library_thread && !amg_cq_is_empty(&context->incoming))
        amg_wakeup_wake(context, AMG_CQ_THREAD);
}

/* Time since the last event or post. */
static uint64_t quiet_ns(struct amg_wakeup *wakeup, uint64_t now_ns)
{
    if (atomic_load_explicit(&wakeup->was_posted, memory_order_relaxed)) {
        atomic_store_explicit(&wakeup->was_posted, false, memory_order_relaxed);
        wakeup->quiet_since_ns = now_ns;
    } else if (wakeup->quiet_since_ns == 0) {
        wakeup->quiet_since_ns = now_ns;
    }
    return now_ns - wakeup->quiet_since_ns;
}

/* Between two polls: sleeps, yields or does nothing, by the wait policy. */
static void owner_pause(
    hg_context_t *context, struct wait *wait, uint64_t now_ns)
{
    struct amg_wait_step step =
        amg_wait_policy_next(&wait->policy, quiet_ns(&context->wakeup, now_ns));
    uint64_t until_ns = wait->deadline_ns;
    uint64_t look_ns = amg_context_wake_ns(context);

    if (step.ns > context->nap_ns)
        step.ns = context->nap_ns;
    if (step.ns < until_ns - now_ns)
        until_ns = now_ns + step.ns;
    if (look_ns > now_ns && look_ns < until_ns)
        until_ns = look_ns;
    switch (step.kind) {
    case AMG_WAIT_POLL:
        break;
    case AMG_WAIT_POLL_AND_YIELD:
        if (wait->polls >= wait->yield_at) {
            wait->yield_at = wait->polls + YIELD_EVERY;
            sched_yield();
        }
        break;
    case AMG_WAIT_YIELD:
        sched_yield();
        break;
    case AMG_WAIT_SLEEP:
        AMG_TEST_POINT("progress.before_sleep");
        amg_wakeup_block_until(context, wait->epoch, wait->ran, until_ns);
        wait->rest_at = wait->polls + NAP_EVERY;
        break;
    }
}

/* Pauses between two polls on a core that a peer wants: yields, then sleeps. */
static void owner_give_way(
    hg_context_t *context, struct wait *wait, uint64_t now_ns)
{
    if (wait->yields < CROWD_YIELDS || wait->policy.no_block) {
        wait->yields++;
        sched_yield();
        return;
    }
    wait->policy.core = AMG_CORE_SHARED;
    owner_pause(context, wait, now_ns);
}

/* After an empty poll: pauses, if it is time to. False: the wait ends, by its
 * deadline, amg_context_ring(), or callbacks of another thread. */
static bool owner_rest(hg_context_t *context, struct wait *wait)
{
    struct amg_wakeup *wakeup = &context->wakeup;
    uint64_t now_ns = 0;

    wait->polls++;
    if (wait->polls == wait->ask_at)
        wakeup->is_oversubscribed = wait->policy.hint != AMALGAM_WAIT_SPIN &&
                                    amg_wakeup_is_core_shared(context);
    if (!(wakeup->is_oversubscribed && wait->polls >= wait->ask_at) &&
        wait->polls < wait->rest_at)
        return true;
    wait->rest_at = wait->polls + CLOCK_EVERY;
    now_ns = amg_context_clock_ns(context);
    amg_context_send_unsent(context);
    if (amg_context_look_ns(context) <= now_ns && !amg_role.is_library_thread)
        amg_context_look(context, now_ns);
    wait->ran = atomic_load_explicit(&context->ran, memory_order_relaxed);
    wait->has_ran = ran_is_news(context);
    if (wait->has_ran || now_ns >= wait->deadline_ns)
        return false;
    if (wakeup->is_oversubscribed)
        owner_give_way(context, wait, now_ns);
    else
        owner_pause(context, wait, now_ns);
    return true;
}

/* By the owner: polls until an event, amg_context_ring(), a due callback,
 * callbacks of another thread, or the deadline. */
static hg_return_t owner_wait(hg_context_t *context, uint64_t deadline_ns)
{
    struct wait wait = {
        .policy = amg_progress_wait_policy(
            &context->cls->progress_config, context->spin_ns),
        .deadline_ns = deadline_ns,
        .rest_at = CLOCK_EVERY,
        .yield_at = YIELD_EVERY,
        .ask_at =
            context->wakeup.is_oversubscribed ? CROWD_AFTER_ONE : CROWD_AFTER,
    };

    amg_counters_add(&context->counters, AMG_COUNT_WAITS);
    wait.policy.is_not_pollable = amg_role.is_library_thread
                                      ? context->wakeup.is_thread_not_pollable
                                      : context->wakeup.is_not_pollable;
    do {
        wait.epoch = amg_cq_epoch(&context->cq);
        if (amg_progress_poll(context) || amg_context_has_due(context)) {
            context->wakeup.quiet_since_ns = 0;
            return HG_SUCCESS;
        }
    } while (owner_rest(context, &wait));
    return wait.has_ran ? HG_SUCCESS : HG_TIMEOUT;
}

/* By the owner after an empty first poll: waits, then leaves. */
AMG_NOINLINE static hg_return_t owner_stay(
    hg_context_t *context, unsigned timeout_ms, uint64_t deadline_ns)
{
    hg_return_t rc = HG_TIMEOUT;

    if (amg_context_has_due(context)) {
        context->wakeup.quiet_since_ns = 0;
        rc = HG_SUCCESS;
        incoming_leave(context);
    } else if (timeout_ms > 0) {
        rc = owner_wait(context,
            deadline_ns != 0 ? deadline_ns : amg_clock_deadline_ns(timeout_ms));
    }
    amg_progress_disown(context);
    return rc;
}

/* By the owner, whose poll has found events: leaves. */
AMG_NOINLINE static hg_return_t owner_succeed(hg_context_t *context)
{
    context->wakeup.quiet_since_ns = 0;
    amg_progress_disown(context);
    return HG_SUCCESS;
}

/* By the owner: polls, waits if nothing came, then leaves. */
static hg_return_t owner_progress(
    hg_context_t *context, unsigned timeout_ms, uint64_t deadline_ns)
{
    return amg_progress_poll(context)
               ? owner_succeed(context)
               : owner_stay(context, timeout_ms, deadline_ns);
}

/* By the owner, whose hot_look() found events: ends the poll and leaves. */
AMG_NOINLINE static hg_return_t owner_found(
    hg_context_t *context, struct amg_ep *const *hot)
{
    found_poll(context, hot);
    context->wakeup.quiet_since_ns = 0;
    amg_progress_disown(context);
    return HG_SUCCESS;
}

/* Becomes the owner, if possible. Spins if there is a progress thread, because
 * that thread gives up ownership as soon as it sees a waiter: then a spin ends
 * earlier than a sleep, unless cores are oversubscribed. */
static bool own_soon(hg_context_t *context)
{
    const struct amg_placement *placement =
        context->cls->progress_config.placement;
    bool may_spin = context->thread != NULL && !placement->is_oversubscribed;
    unsigned tries = may_spin ? OWN_TRIES : 1;

    while (!amg_progress_own(context)) {
        if (--tries == 0 || amg_context_has_due(context))
            return false;
        amg_relax();
    }
    return true;
}

/* By a thread that found an owner: waits in the list until a callback is due or
 * has run, the thread becomes owner, or the time is reached; see core/cq.c. */
AMG_NOINLINE static hg_return_t waiter_wait(
    hg_context_t *context, unsigned timeout_ms)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    struct amg_cq_waiter waiter;
    bool is_due = false;
    bool is_owner = false;

    amg_cq_enter(&context->cq, AMG_WAITS_TO_OWN, &waiter);
    do {
        amg_cq_waiter_clear(&waiter);
        is_due = amg_context_has_due(context) || ran_is_news(context);
        is_owner = !is_due && own_soon(context);
    } while (!is_due && !is_owner && amg_wakeup_sleep(&waiter, deadline_ns));
    amg_cq_leave(&context->cq, AMG_WAITS_TO_OWN, &waiter);
    if (is_owner)
        return owner_progress(context, timeout_ms, deadline_ns);
    amg_counters_add(&context->counters, AMG_COUNT_WAITS);
    if (amg_progress_own(context)) /* only to hand over */
        amg_progress_disown(context);
    /* Wakes the next waiter for entries that this thread will not take. */
    if (amg_cq_count(&context->cq) > is_due)
        amg_cq_wake_first(&context->cq, AMG_WAITS_TO_OWN);
    return is_due ? HG_SUCCESS : HG_TIMEOUT;
}

/* Tells the progress thread that a caller makes progress, or waits to do so.
 * Lost increments of concurrent calls do no harm. */
static inline void turn_take(hg_context_t *context)
{
    unsigned turns =
        atomic_load_explicit(&context->turns, memory_order_relaxed);

    atomic_store_explicit(&context->turns, turns + 1u, memory_order_relaxed);
}

/* amg_progress_wait() if the lock `owner` is held or not biased to this thread,
 * or in a handler that a service thread runs. */
AMG_NOINLINE static hg_return_t shared_wait(
    hg_context_t *context, unsigned timeout_ms)
{
    if (amg_progress_own(context))
        return owner_progress(context, timeout_ms, 0);
    if (amg_context_has_due(context)) {
        incoming_leave(context);
        return HG_SUCCESS;
    }
    return timeout_ms == 0 ? HG_TIMEOUT : waiter_wait(context, timeout_ms);
}

static AMG_INLINE hg_return_t progress_wait(
    hg_context_t *context, unsigned timeout_ms)
{
    struct amg_ep *const *hot = NULL;

    amg_context_send_unsent(context);
    if (!AMG_LIKELY(!amg_role.is_library_thread))
        return shared_wait(context, timeout_ms);
    turn_take(context);
    amg_context_drive(context);
    if (!AMG_LIKELY(amg_bias_trylock_own(&context->owner)))
        return shared_wait(context, timeout_ms);
    hot = hot_look(context);
    if (hot != NULL)
        return owner_found(context, hot);
    if (poll_end(context))
        return owner_succeed(context);
    if (timeout_ms > 0 || !AMG_LIKELY(amg_cq_is_empty(&context->cq) &&
                                      amg_cq_is_empty(&context->incoming)))
        return owner_stay(context, timeout_ms, 0);
    amg_bias_unlock_own(&context->owner);
    atomic_signal_fence(memory_order_seq_cst); /* see base/bias.h */
    if (!AMG_LIKELY(!amg_cq_has_heirs(&context->cq)))
        amg_cq_hand_over(&context->cq);
    return HG_TIMEOUT;
}

hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms)
{
    return progress_wait(context, timeout_ms);
}

/* By a thread that found an owner. True: the event loop is armed: an entry, a
 * wake, or an owner that leaves signals the doorbell of the loop. */
static bool loop_arm_behind(hg_context_t *context)
{
    unsigned epoch = amg_cq_epoch(&context->cq);

    if (!amg_cq_arm(&context->cq, AMG_CQ_LOOP, epoch))
        return false;
    if (!amg_progress_own(context))
        return true;
    amg_cq_disarm(&context->cq, AMG_CQ_LOOP);
    amg_progress_disown(context);
    return false;
}

/* HG_Event_ready() for a valid context. */
static bool progress_is_due(hg_context_t *context)
{
    unsigned epoch = 0;
    bool is_asleep = false; /* any event will wake the event loop */

    if (context->wakeup.is_not_pollable || context->cls->plan.no_block ||
        amg_wakeup_fd(context, AMG_CQ_LOOP) < 0)
        return amg_progress_wait(context, 0) == HG_SUCCESS;
    if (atomic_load_explicit(&context->cls->is_joining, memory_order_relaxed))
        return true; /* polls must go on: the loop must not block */
    amg_cq_disarm(&context->cq, AMG_CQ_LOOP);
    if (amg_context_has_due(context))
        return true;
    if (!amg_progress_own(context))
        return !loop_arm_behind(context);
    epoch = amg_cq_epoch(&context->cq);
    is_asleep = !amg_progress_poll(context) &&
                amg_wakeup_arm(context, AMG_CQ_LOOP, epoch);
    /* The poll has disarmed the endpoints, and amg_wakeup_arm() has armed them
     * again: so a progress thread that blocks may stay armed. */
    if (is_asleep)
        amg_progress_disown_to_callers(context);
    else
        amg_progress_disown(context);
    return !is_asleep;
}

hg_return_t HG_Progress(hg_context_t *context, unsigned int timeout)
{
    if (!AMG_CONTEXT_OK(context))
        return amg_refusal();
    return progress_wait(context, timeout);
}

/* Runs up to `max_count` callbacks; returns how many. */
static AMG_INLINE unsigned entries_run(
    hg_context_t *context, unsigned max_count)
{
    unsigned count = 0;

    while (count < max_count) {
        struct amg_cq_entry *entry = amg_context_take_due(context);

        if (entry == NULL)
            break;
        amg_context_run(entry);
        count++;
    }
    return count;
}

/* Waits until there is a callback to run, or the deadline. */
static void entry_wait(hg_context_t *context, uint64_t deadline_ns)
{
    struct amg_cq_waiter waiter;

    amg_cq_enter(&context->cq, AMG_WAITS_FOR_ENTRY, &waiter);
    do {
        amg_cq_waiter_clear(&waiter);
        if (amg_context_has_due(context))
            break;
        amg_context_send_unsent(context);
    } while (amg_wakeup_sleep(&waiter, deadline_ns));
    amg_cq_leave(&context->cq, AMG_WAITS_FOR_ENTRY, &waiter);
    if (amg_cq_count(&context->cq) > 1) /* the caller takes one */
        amg_cq_wake_first(&context->cq, AMG_WAITS_FOR_ENTRY);
}

/* Waits up to `timeout_ms` for callbacks, and runs up to `max_count`. */
AMG_NOINLINE static unsigned entries_await(
    hg_context_t *context, unsigned max_count, unsigned timeout_ms)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    unsigned count = 0;

    amg_counters_add(&context->counters, AMG_COUNT_WAITS);
    do {
        entry_wait(context, deadline_ns);
        count = entries_run(context, max_count);
    } while (count == 0 && amg_clock_ns() < deadline_ns);
    return count;
}

/* Sends, by a poll, the messages that endpoints hold back for further calls. */
AMG_NOINLINE static void kept_send(hg_context_t *context)
{
    if (amg_context_has_due(context) || !amg_progress_own(context))
        return;
    for (unsigned i = 0; context->keeps[i] != NULL; i++)
        (void)ep_poll(
            context, context->eps[context->keeping[i]], context->keeping[i]);
    amg_progress_disown(context);
}

/* The result of HG_Trigger() that has run no callback. */
static inline hg_return_t trigger_none(unsigned max_count, unsigned *ret_count)
{
    if (ret_count != NULL)
        *ret_count = 0;
    return max_count == 0 ? HG_SUCCESS : HG_TIMEOUT;
}

/* HG_Trigger() that runs callbacks, waits for them, or sends messages. */
AMG_NOINLINE static hg_return_t trigger_any(hg_context_t *context,
    unsigned timeout_ms, unsigned max_count, unsigned *ret_count)
{
    unsigned count = 0;

    amg_context_drive(context);
    count = entries_run(context, max_count);
    if (count == 0 && max_count > 0 && timeout_ms > 0)
        count = entries_await(context, max_count, timeout_ms);
    amg_context_send_unsent(context);
    if (!AMG_LIKELY(!amg_context_keeps(context)))
        kept_send(context);
    if (!AMG_LIKELY(count > 0))
        return trigger_none(max_count, ret_count);
    atomic_store_explicit(&context->has_run, true, memory_order_relaxed);
    if (!AMG_LIKELY(amg_bias_is_mine(&context->cq.lock)))
        ran_tell(context);
    if (ret_count != NULL)
        *ret_count = count;
    return HG_SUCCESS;
}

hg_return_t HG_Trigger(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count)
{
    if (!AMG_CONTEXT_OK(context))
        return amg_refusal();
    return amg_context_is_idle(context) && timeout == 0
               ? trigger_none(max_count, actual_count)
               : trigger_any(context, timeout, max_count, actual_count);
}

int HG_Event_get_wait_fd(const hg_context_t *context)
{
    if (!AMG_CONTEXT_OK(context))
        return -1;
    if (context->wakeup.is_not_pollable || context->cls->plan.no_block)
        return -1;
    /* The descriptor is created on first use, which the user cannot observe. */
    return amg_wakeup_fd((hg_context_t *)context, AMG_CQ_LOOP);
}

bool HG_Event_ready(hg_context_t *context)
{
    return AMG_CONTEXT_OK(context) && progress_is_due(context);
}

hg_return_t HG_Event_progress(hg_context_t *context, unsigned int *count_p)
{
    if (!AMG_CONTEXT_OK(context))
        return amg_refusal();
    if (amg_cq_is_armed(&context->cq, AMG_CQ_LOOP))
        amg_cq_disarm(&context->cq, AMG_CQ_LOOP);
    amg_progress_wait(context, 0);
    if (count_p != NULL)
        *count_p = amg_cq_count(&context->cq);
    return HG_SUCCESS;
}

hg_return_t HG_Event_trigger(
    hg_context_t *context, unsigned int max_count, unsigned int *actual_count)
{
    hg_return_t rc = HG_Trigger(context, 0, max_count, actual_count);

    return rc == HG_TIMEOUT ? HG_SUCCESS : rc;
}

unsigned amg_progress_serve(hg_class_t *cls, unsigned max_count)
{
    int left = amg_class_counted(cls, AMG_CLASS_CONTEXTS);
    unsigned happened = 0;
    unsigned from = 0;

    for (; left > 0; left--) {
        hg_context_t *context = amg_class_context(cls, from);
        unsigned count = 0;

        if (context == NULL)
            break;
        from = context->id + 1u;
        happened += amg_progress_wait(context, 0) == HG_SUCCESS;
        (void)HG_Event_trigger(context, max_count, &count);
        happened += count;
    }
    return happened;
}

void amg_progress_settle(hg_context_t *context, uint64_t deadline_ns)
{
    while (amg_tally_sum(&context->in_flight) > 0 &&
           !amg_context_has_due(context) && amg_clock_ns() < deadline_ns)
        (void)amg_progress_wait(context, 1);
}
