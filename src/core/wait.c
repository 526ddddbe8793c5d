/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for news: spin on a core of one's own, sleep on a shared one.
 *
 * One thread of a context makes progress, the others sleep on the completion
 * queue and are woken when something is queued or the owner leaves. What the
 * owner does between two polls is settled by pace.c; how long nothing has come
 * is counted over calls, so that a program that waits 1 ms at a time sleeps as
 * well as one that waits for ever.
 *
 * An owner on whose very core a peer runs keeps that one from sending as long
 * as it looks. So after some polls that found nothing it asks its drivers; then
 * it yields a few times and sleeps at once. The next wait remembers that, and
 * asks after its first poll. */
#include <sched.h>

#include "base/clock.h"
#include "base/relax.h"
#include "core/pace.h"
#include "core/progress.h"
#include "core/sleep.h"

enum {
    CLOCK_EVERY = 32,    /* polls between two looks at the clock */
    NAP_EVERY = 4,       /* polls between two naps: some media need more than
                          * one to bring a message */
    YIELD_EVERY = 256,   /* polls between two yields, on a core of one's own */
    CROWD_AFTER = 64,    /* polls before the drivers are asked, about 2 us */
    CROWD_AFTER_ONE = 1, /* the same when the core was shared the last time */
    CROWD_YIELDS = 3,
    OWN_TRIES = 100, /* 1 to 5 us, in which the progress thread leaves */
    SEEN = 8,        /* contexts that a thread remembers */
};

/* One wait of the progress owner. */
struct wait {
    struct amg_pace pace;
    uint64_t deadline_ns;
    unsigned polls;
    unsigned rest_at;  /* polls when the clock is looked at */
    unsigned yield_at; /* polls when the core is offered to others */
    unsigned ask_at;   /* polls when the drivers are asked for company */
    unsigned yields;
    unsigned epoch; /* before the last poll */
    bool has_ran;   /* threads of ours ran callbacks */
};

/* What a thread saw last of contexts in which threads of ours run callbacks.
 * They may have run what the program waits for before it waits. */
struct seen {
    unsigned serial;
    unsigned ran;
};

static _Thread_local struct seen seen[SEEN]
    __attribute__((tls_model("initial-exec")));

/* Have they run any since the calling thread asked? */
static bool ran_is_news(const hg_context_t *context)
{
    unsigned ran = atomic_load_explicit(&context->ran, memory_order_acquire);
    struct seen *mine = &seen[context->serial % SEEN];

    if (ran == (mine->serial == context->serial ? mine->ran : 0))
        return false;
    mine->serial = context->serial;
    mine->ran = ran;
    return true;
}

/* The program finds what is served, and did not run it: the thread is to. */
static void served_leave(hg_context_t *context)
{
    if (context->serve_by == AMG_SERVE_THREAD && !amg_role.is_ours &&
        !amg_cq_is_empty(&context->served))
        amg_sleep_rouse(context, AMG_CQ_THREAD);
}

struct amg_pace amg_progress_pace(const hg_class_t *cls, uint64_t spin_ns)
{
    const struct amg_placement *placement = cls->drive.placement;
    bool is_shared =
        amg_role.is_ours || (placement != NULL && placement->is_crowded);

    return (struct amg_pace){
        .wish = cls->drive.wait,
        .core = is_shared ? AMG_PACE_SHARED : AMG_PACE_OWN,
        .no_block = cls->plan.no_block,
        .must_yield = cls->limits.must_yield,
        .spin_ns = spin_ns,
    };
}

static struct amg_pace pace_of(const hg_context_t *context)
{
    struct amg_pace pace = amg_progress_pace(context->cls, context->spin_ns);

    pace.is_blind = amg_role.is_ours ? context->sleep.is_thread_blind
                                     : context->sleep.is_blind;
    return pace;
}

/* How long nothing has come. */
static uint64_t quiet_ns(struct amg_sleep *sleep, uint64_t now_ns)
{
    if (atomic_load_explicit(&sleep->was_posted, memory_order_relaxed)) {
        atomic_store_explicit(&sleep->was_posted, false, memory_order_relaxed);
        sleep->quiet_since_ns = now_ns;
    } else if (sleep->quiet_since_ns == 0) {
        sleep->quiet_since_ns = now_ns;
    }
    return now_ns - sleep->quiet_since_ns;
}

/* One thing to do between two polls. */
static void owner_pause(
    hg_context_t *context, struct wait *wait, uint64_t now_ns)
{
    struct amg_pace_step step =
        amg_pace_next(&wait->pace, quiet_ns(&context->sleep, now_ns));
    uint64_t until_ns = wait->deadline_ns;
    uint64_t look_ns = amg_context_look_ns(context);

    if (step.ns < until_ns - now_ns)
        until_ns = now_ns + step.ns;
    if (look_ns > now_ns && look_ns < until_ns)
        until_ns = look_ns;
    switch (step.kind) {
    case AMG_PACE_LOOK:
        break;
    case AMG_PACE_GO_ON:
        if (wait->polls >= wait->yield_at) {
            wait->yield_at = wait->polls + YIELD_EVERY;
            sched_yield();
        }
        break;
    case AMG_PACE_YIELD:
        sched_yield();
        break;
    case AMG_PACE_NAP:
        (void)amg_sleep_doze(context, AMG_CQ_OWNER, wait->epoch, until_ns);
        wait->rest_at = wait->polls + NAP_EVERY;
        break;
    case AMG_PACE_SLEEP:
        amg_sleep_until(context, wait->epoch, until_ns);
        wait->rest_at = wait->polls + NAP_EVERY;
        break;
    }
}

/* The same on a core that a peer wants. */
static void owner_give_way(
    hg_context_t *context, struct wait *wait, uint64_t now_ns)
{
    if (wait->yields < CROWD_YIELDS || wait->pace.no_block) {
        wait->yields++;
        sched_yield();
        return;
    }
    wait->pace.core = AMG_PACE_SHARED;
    owner_pause(context, wait, now_ns);
}

/* After a poll that found nothing; false when the moment has come. */
static bool owner_rest(hg_context_t *context, struct wait *wait)
{
    struct amg_sleep *sleep = &context->sleep;
    uint64_t now_ns = 0;

    wait->polls++;
    if (wait->polls == wait->ask_at)
        sleep->is_crowded = wait->pace.wish != AMALGAM_WAIT_SPIN &&
                            amg_sleep_is_crowded(context);
    if (!(sleep->is_crowded && wait->polls >= wait->ask_at) &&
        wait->polls < wait->rest_at)
        return true;
    wait->rest_at = wait->polls + CLOCK_EVERY;
    now_ns = amg_clock_ns();
    if (amg_context_look_ns(context) <= now_ns && !amg_role.is_ours)
        amg_context_look(context, now_ns);
    wait->has_ran = ran_is_news(context);
    if (wait->has_ran || now_ns >= wait->deadline_ns)
        return false;
    if (sleep->is_crowded)
        owner_give_way(context, wait, now_ns);
    else
        owner_pause(context, wait, now_ns);
    return true;
}

/* By the owner: polls until there is news or the moment has come. */
static hg_return_t owner_wait(hg_context_t *context, uint64_t deadline_ns)
{
    struct wait wait = {
        .pace = pace_of(context),
        .deadline_ns = deadline_ns,
        .rest_at = CLOCK_EVERY,
        .yield_at = YIELD_EVERY,
        .ask_at = context->sleep.is_crowded ? CROWD_AFTER_ONE : CROWD_AFTER,
    };

    do {
        wait.epoch = amg_cq_epoch(&context->cq);
        if (amg_progress_poll(context) > 0 || amg_context_has_due(context)) {
            context->sleep.quiet_since_ns = 0;
            return HG_SUCCESS;
        }
    } while (owner_rest(context, &wait));
    return wait.has_ran ? HG_SUCCESS : HG_TIMEOUT;
}

/* By the owner, who leaves then. */
static hg_return_t owner_progress(
    hg_context_t *context, unsigned timeout_ms, uint64_t deadline_ns)
{
    hg_return_t rc = HG_TIMEOUT;

    if (amg_progress_poll(context) > 0) {
        context->sleep.quiet_since_ns = 0;
        rc = HG_SUCCESS;
    } else if (amg_context_has_due(context)) {
        context->sleep.quiet_since_ns = 0;
        rc = HG_SUCCESS;
        served_leave(context);
    } else if (timeout_ms > 0) {
        rc = owner_wait(context,
            deadline_ns != 0 ? deadline_ns : amg_clock_deadline_ns(timeout_ms));
    }
    amg_progress_disown(context);
    return rc;
}

/* The progress thread leaves as soon as it sees who waits; to be woken by it
 * would take longer. */
static bool own_soon(hg_context_t *context)
{
    const struct amg_placement *placement = context->cls->drive.placement;
    bool may_spin = context->crew != NULL && !placement->is_crowded;
    unsigned tries = may_spin ? OWN_TRIES : 1;

    while (!amg_progress_own(context)) {
        if (--tries == 0 || amg_context_has_due(context))
            return false;
        amg_relax();
    }
    return true;
}

/* By a thread that found an owner: sleeps until something is queued, the owner
 * leaves, or the moment has come. Who counts itself as waiting before it tries
 * again is either let in or woken by the owner that leaves. */
static hg_return_t waiter_wait(hg_context_t *context, unsigned timeout_ms)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    hg_return_t rc = HG_TIMEOUT;

    atomic_fetch_add_explicit(&context->awaiting, 1u, memory_order_seq_cst);
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);

        if (amg_context_has_due(context) || ran_is_news(context)) {
            rc = HG_SUCCESS;
            break;
        }
        if (own_soon(context)) {
            atomic_fetch_sub_explicit(
                &context->awaiting, 1u, memory_order_relaxed);
            return owner_progress(context, timeout_ms, deadline_ns);
        }
        amg_cq_sleep(&context->cq, epoch, deadline_ns);
    } while (amg_clock_ns() < deadline_ns);
    atomic_fetch_sub_explicit(&context->awaiting, 1u, memory_order_relaxed);
    return rc;
}

/* Who makes progress, and who would, tells the progress thread that it need
 * not. A count that is lost between two of them is none of its concern. */
static inline void turn_take(hg_context_t *context)
{
    unsigned turns =
        atomic_load_explicit(&context->turns, memory_order_relaxed);

    atomic_store_explicit(&context->turns, turns + 1u, memory_order_relaxed);
}

/* In a handler that a thread of ours runs. */
static hg_return_t nested_wait(hg_context_t *context, unsigned timeout_ms)
{
    hg_return_t rc = HG_TIMEOUT;

    atomic_fetch_add_explicit(&context->nested, 1u, memory_order_seq_cst);
    if (context->serve_by == AMG_SERVE_POOL) /* else it is that thread */
        turn_take(context);
    if (amg_progress_own(context))
        rc = owner_progress(context, timeout_ms, 0);
    else if (amg_context_has_due(context))
        rc = HG_SUCCESS;
    else if (timeout_ms > 0)
        rc = waiter_wait(context, timeout_ms);
    atomic_fetch_sub_explicit(&context->nested, 1u, memory_order_relaxed);
    return rc;
}

hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms)
{
    if (amg_role.is_ours)
        return nested_wait(context, timeout_ms);
    turn_take(context);
    amg_context_drive(context);
    if (amg_progress_own(context))
        return owner_progress(context, timeout_ms, 0);
    if (amg_context_has_due(context)) {
        served_leave(context);
        return HG_SUCCESS;
    }
    return timeout_ms == 0 ? HG_TIMEOUT : waiter_wait(context, timeout_ms);
}

/* By the owner of progress for a moment: nothing is due, and the event loop
 * will be told of all that comes. */
static bool loop_arm(hg_context_t *context)
{
    unsigned epoch = amg_cq_epoch(&context->cq);

    return amg_progress_poll(context) == 0 &&
           amg_sleep_arm(context, AMG_CQ_LOOP, epoch);
}

/* By a thread that found an owner. That one's news are told by the queue, and
 * so is that it leaves, if it does after this. */
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

bool amg_progress_is_due(hg_context_t *context)
{
    bool is_asleep = false;

    if (context->sleep.is_blind || context->cls->plan.no_block ||
        amg_sleep_fd(context, AMG_CQ_LOOP) < 0)
        return amg_progress_wait(context, 0) == HG_SUCCESS;
    amg_cq_disarm(&context->cq, AMG_CQ_LOOP);
    if (amg_context_has_due(context))
        return true;
    if (!amg_progress_own(context))
        return !loop_arm_behind(context);
    is_asleep = loop_arm(context);
    /* What the poll has ended of the progress thread's announcement, the arming
     * of the loop has made again. */
    if (amg_progress_leave(context) ||
        (!is_asleep && amg_cq_is_armed(&context->cq, AMG_CQ_THREAD)))
        amg_cq_wake(&context->cq);
    return !is_asleep;
}
