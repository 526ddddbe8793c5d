/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for news: spin on a core of one's own, sleep on a shared one.
 *
 * One thread of a context makes progress, the others sleep on the completion
 * queue and are woken when something is queued or the owner leaves. The owner
 * itself looks without pause for a short time, and then sleeps until a
 * descriptor tells of news.
 *
 * Where nothing but polling brings some (MPI between nodes has no descriptor)
 * it looks on; or, when the ranks of the node outnumber its cores, sleeps
 * between two looks: 20 us at first, doubling to 1 ms, and to 5 ms once nothing
 * has come for 20 ms. Measured: looking every 200 us takes 11 % of a core from
 * the rank that computes there, every 5 ms 0.5 %.
 *
 * An owner on whose very core a peer runs keeps that one from sending as long
 * as it looks. So after some polls that found nothing it asks its drivers; then
 * it yields a few times and sleeps at once. The next wait remembers that, and
 * asks after its first poll. */
#include <sched.h>

#include "base/clock.h"
#include "core/progress.h"
#include "core/sleep.h"

#define FIRST_NAP_NS  20000ull
#define SHORT_NAP_NS  1000000ull
#define LONG_NAP_NS   5000000ull
#define LONG_AFTER_NS 20000000ull

enum {
    CLOCK_EVERY = 32,    /* polls between two looks at the clock */
    YIELD_EVERY = 256,   /* polls between two yields, on a core of one's own */
    CROWD_AFTER = 64,    /* polls before the drivers are asked, about 2 us */
    CROWD_AFTER_ONE = 1, /* the same when the core was shared the last time */
    CROWD_YIELDS = 3,
};

/* One wait of the progress owner. */
struct wait {
    uint64_t start_ns;
    uint64_t deadline_ns;
    unsigned polls;
    unsigned ask_at; /* polls when the drivers are asked for company */
    unsigned yields;
    unsigned epoch; /* before the last poll */
};

static uint64_t nap_ns(uint64_t quiet_ns, uint64_t spin_ns)
{
    uint64_t nap = FIRST_NAP_NS;
    uint64_t past = spin_ns;

    if (quiet_ns > LONG_AFTER_NS)
        return LONG_NAP_NS;
    /* Each nap as long as the wait so far: that is the doubling. */
    while (nap < SHORT_NAP_NS && past + nap < quiet_ns) {
        past += nap;
        nap *= 2;
    }
    return nap < SHORT_NAP_NS ? nap : SHORT_NAP_NS;
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Until there is news; where a descriptor does not tell of all, not for long.
 */
static void owner_sleep(
    hg_context_t *context, const struct wait *wait, uint64_t now_ns)
{
    uint64_t until_ns = wait->deadline_ns;

    if (context->sleep.is_blind)
        until_ns = earlier(until_ns,
            now_ns + nap_ns(now_ns - wait->start_ns, context->spin_ns));
    amg_sleep_until(context, wait->epoch, until_ns);
}

/* One thing to do between two polls, on a core that nobody else wants. */
static void owner_pause(
    hg_context_t *context, const struct wait *wait, uint64_t now_ns)
{
    bool must_yield = context->cls->limits.must_yield;

    if (now_ns - wait->start_ns <= context->spin_ns) {
        if (must_yield)
            sched_yield();
        return;
    }
    if (!context->cls->plan.no_block &&
        (!context->sleep.is_blind || must_yield))
        owner_sleep(context, wait, now_ns);
    else if (must_yield || wait->polls % YIELD_EVERY == 0)
        sched_yield();
}

/* The same on one that a peer wants. */
static void owner_give_way(
    hg_context_t *context, struct wait *wait, uint64_t now_ns)
{
    if (wait->yields < CROWD_YIELDS || context->cls->plan.no_block) {
        wait->yields++;
        sched_yield();
        return;
    }
    owner_sleep(context, wait, now_ns);
}

/* After a poll that found nothing; false when the moment has come. */
static bool owner_rest(hg_context_t *context, struct wait *wait)
{
    struct amg_sleep *sleep = &context->sleep;
    uint64_t now_ns = 0;

    wait->polls++;
    if (wait->polls == wait->ask_at)
        sleep->is_crowded = amg_sleep_is_crowded(context);
    if (!(sleep->is_crowded && wait->polls >= wait->ask_at) &&
        wait->polls % CLOCK_EVERY != 0)
        return true;
    now_ns = amg_clock_ns();
    if (now_ns >= wait->deadline_ns)
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
        .start_ns = amg_clock_ns(),
        .deadline_ns = deadline_ns,
        .ask_at = context->sleep.is_crowded ? CROWD_AFTER_ONE : CROWD_AFTER,
    };

    do {
        wait.epoch = amg_cq_epoch(&context->cq);
        if (amg_progress_poll(context) > 0 || amg_context_has_due(context))
            return HG_SUCCESS;
    } while (owner_rest(context, &wait));
    return HG_TIMEOUT;
}

/* By the owner, who leaves then. */
static hg_return_t owner_progress(
    hg_context_t *context, unsigned timeout_ms, uint64_t deadline_ns)
{
    hg_return_t rc = HG_TIMEOUT;

    if (amg_progress_poll(context) > 0 || amg_context_has_due(context))
        rc = HG_SUCCESS;
    else if (timeout_ms > 0)
        rc = owner_wait(context,
            deadline_ns != 0 ? deadline_ns : amg_clock_deadline_ns(timeout_ms));
    amg_progress_disown(context);
    return rc;
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

        if (amg_context_has_due(context)) {
            rc = HG_SUCCESS;
            break;
        }
        if (amg_progress_own(context)) {
            atomic_fetch_sub_explicit(
                &context->awaiting, 1u, memory_order_relaxed);
            return owner_progress(context, timeout_ms, deadline_ns);
        }
        amg_cq_sleep(&context->cq, epoch, deadline_ns);
    } while (amg_clock_ns() < deadline_ns);
    atomic_fetch_sub_explicit(&context->awaiting, 1u, memory_order_relaxed);
    return rc;
}

hg_return_t amg_progress_wait(hg_context_t *context, unsigned timeout_ms)
{
    amg_context_drive(context);
    if (amg_progress_own(context))
        return owner_progress(context, timeout_ms, 0);
    if (amg_context_has_due(context))
        return HG_SUCCESS;
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
    if (amg_progress_leave(context))
        amg_cq_wake(&context->cq);
    return !is_asleep;
}
