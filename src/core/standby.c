/* SPDX-License-Identifier: BSD-3-Clause */
/* Standby: a thread makes progress while callers do not. Model:
 * tests/models/waiters.pml.
 *
 * The thread owns the context only while it polls. Before the thread blocks, it
 * arms its doorbell at all event sources and gives up ownership, so that a
 * waiting caller takes over at once. The first poll of a caller disarms the
 * sources; so the caller, when it gives up ownership, wakes the thread, by a
 * system call. The woken thread stands by: it naps on a shared core, spins on a
 * core of its own, and reads from context->turns whether callers still make
 * progress. After a time without a caller, the thread takes over.
 *
 *   progress --(no event)--> blocked, armed, not the owner
 *   progress or blocked --(a caller)--> standby
 *   standby --(no caller for 1 ms; on a core of its own, 12 us)--> progress
 *   standby --(another thread stays owner)--> blocked until the owner leaves
 *
 * A call (amg_standby_call()) is not lost: it sets is_called, then signals the
 * doorbell. A step clears is_called at its end, after the last drain of the
 * doorbell; then the thread looks for the reason of the call. So the thread
 * finds the reason after this step, or the signal ends the next sleep.
 *
 * A descriptor that reports events when there are none would keep the thread
 * awake: after FRUITLESS_MAX such wake-ups the thread naps instead. */

#include "base/clock.h"
#include "base/lock.h"
#include "core/progress.h"

enum {
    CLOCK_EVERY = 32,     /* polls between two reads of the clock */
    NAP_NS = 1000000,     /* a nap while callers make progress */
    SPIN_NS = 4000,       /* a spin on a core of its own */
    CALM_SPIN_NS = 12000, /* no caller for that long: the thread takes over */
    CALM_NAP_NS = NAP_NS, /* CALM_SPIN_NS of a thread on a shared core */
    KEPT_NAPS = 10,       /* after these naps, a sleep until the owner leaves */
    FRUITLESS_MAX = 16,   /* wake-ups without an event; then a nap */
};

static bool is_alone(const struct amg_standby *standby)
{
    return standby->policy.core == AMG_CORE_DEDICATED;
}

static struct amg_wait_step pace_now(
    struct amg_standby *standby, uint64_t now_ns)
{
    unsigned moves = atomic_load_explicit(
        &standby->context->wakeup.moves, memory_order_relaxed);

    if (standby->quiet_since_ns == 0 || standby->moves != moves)
        standby->quiet_since_ns = now_ns;
    standby->moves = moves;
    return amg_wait_policy_next(
        &standby->policy, now_ns - standby->quiet_since_ns);
}

void amg_standby_defer(struct amg_standby *standby)
{
    standby->turned_ns = amg_clock_ns();
}

/* Have callers made progress since the last check? */
static bool turns_changed(struct amg_standby *standby)
{
    unsigned turns =
        atomic_load_explicit(&standby->context->turns, memory_order_relaxed);

    if (turns == standby->turns)
        return false;
    standby->turns = turns;
    amg_standby_defer(standby);
    standby->kept = 0;
    standby->quiet_since_ns = 0;
    return true;
}

/* Was there no caller for so long that the thread takes over? */
static bool is_calm(struct amg_standby *standby)
{
    uint64_t calm_ns = is_alone(standby) ? CALM_SPIN_NS : CALM_NAP_NS;

    if (standby->turned_ns != 0 &&
        amg_clock_ns() - standby->turned_ns >= calm_ns)
        standby->turned_ns = 0;
    return standby->turned_ns == 0;
}

/* End of a sleep of up to `ns`, but not beyond `until_ns`. */
static uint64_t sleep_end_ns(uint64_t now_ns, uint64_t until_ns, uint64_t ns)
{
    return until_ns <= now_ns || until_ns - now_ns < ns ? until_ns
                                                        : now_ns + ns;
}

/* Sleeps until the owner leaves: the owner sees the announcement, or this
 * thread sees that the owner has left (base/bias.h). False: has not slept. */
static bool sleep_behind(struct amg_standby *standby, uint64_t until_ns)
{
    hg_context_t *context = standby->context;
    bool is_owner = false;

    if (!amg_cq_arm(&context->cq, AMG_CQ_THREAD, amg_cq_epoch(&context->cq)))
        return false;
    is_owner = amg_progress_own(context);
    if (!is_owner)
        amg_wakeup_timed_wait(context, until_ns);
    amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
    if (is_owner) {
        standby->kept = 0;
        amg_progress_disown(context);
    }
    return !is_owner;
}

/* Sleeps for a nap, unless amg_standby_call() ends the sleep. */
static void nap(struct amg_standby *standby, uint64_t now_ns, uint64_t until_ns)
{
    amg_wakeup_timed_wait(
        standby->context, sleep_end_ns(now_ns, until_ns, NAP_NS));
    if (amg_wakeup_fd(standby->context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&standby->context->cq, AMG_CQ_THREAD);
}

/* Spins or sleeps while callers make progress, or did a moment ago. True:
 * callbacks that are due have waited long enough for callers, which may never
 * call HG_Trigger(). */
static bool stand_by(struct amg_standby *standby, uint64_t until_ns)
{
    uint64_t now_ns = amg_clock_ns();
    bool was_due = amg_context_has_due(standby->context);

    if (until_ns <= now_ns)
        return was_due;
    if (is_alone(standby) && pace_now(standby, now_ns).kind == AMG_WAIT_POLL) {
        while (amg_clock_ns() - now_ns < SPIN_NS)
            amg_relax();
        return was_due;
    }
    if (standby->kept >= KEPT_NAPS &&
        amg_wakeup_fd(standby->context, AMG_CQ_THREAD) >= 0 &&
        sleep_behind(standby, sleep_end_ns(now_ns, until_ns, AMG_WAIT_LONG_NS)))
        return true;
    standby->kept++;
    nap(standby, now_ns, until_ns);
    return true;
}

/* By the owner: gives up ownership, then blocks until an event or a limit. */
static void drive_sleep(struct amg_standby *standby, unsigned epoch,
    uint64_t now_ns, uint64_t until_ns)
{
    hg_context_t *context = standby->context;
    enum amg_wakeup_reason end = AMG_WAKEUP_EVENT;

    if (standby->fruitless >= FRUITLESS_MAX ||
        amg_wakeup_fd(context, AMG_CQ_THREAD) < 0) {
        amg_progress_disown(context);
        standby->fruitless = 0;
        nap(standby, now_ns, until_ns);
        return;
    }
    if (!amg_wakeup_arm(context, AMG_CQ_THREAD, epoch)) {
        amg_progress_disown(context);
    } else {
        amg_progress_disown_to_callers(context);
        end = amg_wakeup_block(context, AMG_CQ_THREAD, until_ns);
    }
    if (end == AMG_WAKEUP_SIGNAL)
        standby->quiet_since_ns = 0;
    standby->fruitless = end == AMG_WAKEUP_EVENT ? standby->fruitless + 1 : 0;
}

/* By the owner, after an empty poll: sleeps if the wait policy says so. False:
 * gave up ownership, to sleep, to end the step, or as `look` is due. */
static bool drive_rest(
    struct amg_standby *standby, unsigned epoch, uint64_t until_ns)
{
    hg_context_t *context = standby->context;
    uint64_t now_ns = amg_context_clock_ns(context);
    uint64_t look_ns = amg_context_wake_ns(context);
    struct amg_wait_step step = pace_now(standby, now_ns);

    if (look_ns < until_ns)
        until_ns = look_ns;
    if (until_ns <= now_ns) {
        amg_progress_disown(context);
        return false;
    }
    if (step.kind != AMG_WAIT_SLEEP)
        return true;
    if (step.ns > AMG_WAIT_LONG_NS)
        step.ns = AMG_WAIT_LONG_NS;
    drive_sleep(
        standby, epoch, now_ns, sleep_end_ns(now_ns, until_ns, step.ns));
    return false;
}

/* By the owner: polls until a caller comes, a callback is due, or the thread is
 * called or has slept; then leaves. */
static void drive(struct amg_standby *standby, uint64_t until_ns)
{
    hg_context_t *context = standby->context;
    unsigned polls = 0;

    standby->kept = 0;
    do {
        unsigned epoch = amg_cq_epoch(&context->cq);
        bool has_found = amg_progress_poll(context);

        polls++;
        if (has_found) {
            standby->quiet_since_ns = 0;
            standby->fruitless = 0;
            /* Waits of callers count their quiet time from this event, too. */
            context->wakeup.quiet_since_ns = 0;
        }
        if (turns_changed(standby))
            break;
        if (amg_cq_is_awaited(&context->cq)) {
            amg_standby_defer(standby);
            break;
        }
        if (amg_context_has_due(context))
            break;
        if (polls % CLOCK_EVERY == 0)
            amg_context_send_unsent(context);
        if (!has_found &&
            (standby->policy.core == AMG_CORE_SHARED ||
                polls % CLOCK_EVERY == 0) &&
            !drive_rest(standby, epoch, until_ns))
            return;
    } while (!atomic_load_explicit(&standby->is_called, memory_order_relaxed));
    amg_progress_disown(context);
}

void amg_standby_begin(
    struct amg_standby *standby, hg_context_t *context, bool has_core)
{
    standby->context = context;
    standby->policy =
        amg_progress_config_wait_policy(&context->cls->progress_config,
            has_core ? AMG_CORE_DEDICATED : AMG_CORE_SHARED, context->spin_ns);
    standby->policy.is_not_pollable =
        amg_role.is_library_thread ? context->wakeup.is_thread_not_pollable
                                   : context->wakeup.is_not_pollable;
    standby->turns =
        atomic_load_explicit(&context->turns, memory_order_relaxed);
    if (!amg_role.is_library_thread)
        amg_cq_heed(&context->cq, AMG_CQ_THREAD);
    if (amg_wakeup_fd(context, AMG_CQ_THREAD) >= 0)
        amg_cq_disarm(&context->cq, AMG_CQ_THREAD);
}

bool amg_standby_step(struct amg_standby *standby, uint64_t until_ns)
{
    hg_context_t *context = standby->context;
    bool is_left = false;

    (void)turns_changed(standby);
    if (is_calm(standby) && amg_progress_own(context)) {
        drive(standby, until_ns);
        is_left = standby->turned_ns == 0;
    } else {
        is_left = stand_by(standby, until_ns);
    }
    amg_context_send_unsent(context);
    if (amg_context_look_ns(context) != AMG_CONTEXT_NEVER)
        amg_context_look(context, amg_clock_ns());
    if (atomic_load_explicit(&standby->is_called, memory_order_relaxed))
        (void)atomic_exchange_explicit(
            &standby->is_called, false, memory_order_acquire);
    return is_left;
}

void amg_standby_end(struct amg_standby *standby)
{
    /* A poll disarms the event sources, where the thread may still be armed. */
    if (amg_progress_own(standby->context)) {
        amg_progress_poll(standby->context);
        amg_progress_disown(standby->context);
    }
}

void amg_standby_call(struct amg_standby *standby, hg_context_t *context)
{
    atomic_store_explicit(&standby->is_called, true, memory_order_release);
    amg_wakeup_wake(context, AMG_CQ_THREAD);
}
