/* SPDX-License-Identifier: BSD-3-Clause */
/* Standby loop: a second progress loop, on the program's stream, for a progress
 * stream that shares its core.
 *
 * On a shared core each call costs two switches of OS threads if the progress
 * stream serves the call while the program only waits. So the standby loop
 * makes all progress while the program's stream has time, and the loop of the
 * progress stream, the watcher, only checks every millisecond whether the
 * standby loop makes rounds, or sleeps where an event would wake it. While the
 * standby loop sleeps, the watcher sleeps after a few checks as well. A standby
 * loop that neither makes rounds nor sleeps shows that the program computes:
 * the watcher makes progress itself, until the standby loop is back and has
 * waited for the end of the watcher's round, whose events belong to that round
 * alone. The watcher does not wait for a round of the standby loop, because the
 * program may compute while a callback in that round waits. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "core/context.h"
#include "margo/instance.h"
#include "margo/loop.h"
#include "margo/registry.h"
#include "margo/runtime.h"

enum {
    WATCH_MS = 1,
    ASLEEP_CHECKS = 4, /* checks of a loop asleep before the watcher sleeps */
};

static bool is_there(const struct amg_margo_standby *standby)
{
    return atomic_load_explicit(&standby->is_there, memory_order_acquire);
}

/* False: the instance ends, or needs no standby loop any more. Sequentially
 * consistent, as is the loop's load of is_busy: the standby loop sees
 * is_draining, or the loop sees is_busy. */
static bool round_begin(margo_instance_id mid)
{
    struct amg_margo_standby *standby = &mid->loop->standby;

    atomic_store_explicit(&standby->is_busy, true, memory_order_seq_cst);
    return !atomic_load_explicit(&mid->is_draining, memory_order_seq_cst) &&
           !atomic_load_explicit(&standby->is_dismissed, memory_order_relaxed);
}

static void round_end(struct amg_margo_standby *standby)
{
    atomic_store_explicit(&standby->is_busy, false, memory_order_release);
}

/* Called when the program's stream has time again: makes the watcher leave its
 * round. False: the instance ends, and so does the standby loop. */
static bool watcher_stop(margo_instance_id mid)
{
    struct amg_margo_standby *standby = &mid->loop->standby;
    unsigned tries = 0;

    for (;;) {
        if (atomic_load_explicit(&standby->is_taken_over, memory_order_relaxed))
            atomic_store_explicit(
                &standby->is_taken_over, false, memory_order_seq_cst);
        if (!atomic_load_explicit(&standby->is_in_round, memory_order_seq_cst))
            return true;
        /* Each time, since the watcher may have been about to sleep. */
        amg_context_ring(mid->hg_context);
        round_end(standby);
        if (!amg_margo_runtime_has_ready())
            amg_lock_yield(tries++);
        ABT_thread_yield();
        if (!round_begin(mid))
            return false;
    }
}

static void standby_main(void *arg)
{
    margo_instance_id mid = arg;
    struct amg_margo_standby *standby = &mid->loop->standby;
    struct amg_margo_rounds rounds;

    amg_margo_rounds_begin(mid, &rounds, &standby->counts);
    rounds.is_asleep = &standby->is_asleep;
    while (round_begin(mid) && watcher_stop(mid)) {
        amg_margo_rounds_run(mid, &rounds);
        round_end(standby);
        amg_margo_rounds_yield(mid, &rounds);
    }
    amg_margo_rounds_end(&rounds);
    round_end(standby);
    atomic_store_explicit(&standby->is_there, false, memory_order_seq_cst);
    amg_margo_watcher_wake(mid);
}

void amg_margo_standby_start(margo_instance_id mid)
{
    struct amg_margo_standby *standby = &mid->loop->standby;
    struct margo_pool_info info;

    if (!amg_margo_runtime_can_block() ||
        margo_find_pool_by_name(mid, "__primary__", &info) != HG_SUCCESS ||
        info.pool == mid->pools->progress_pool)
        return;
    AMG_ASSERT(mid->loops[AMG_MARGO_STANDBY] == ABT_THREAD_NULL);
    standby->pool = info.pool;
    /* Release: the loop, which runs already, sees the pool. */
    atomic_store_explicit(&standby->is_there, true, memory_order_release);
    if (ABT_thread_create(info.pool, standby_main, mid, ABT_THREAD_ATTR_NULL,
            &mid->loops[AMG_MARGO_STANDBY]) == ABT_SUCCESS)
        return;
    mid->loops[AMG_MARGO_STANDBY] = ABT_THREAD_NULL;
    atomic_store_explicit(&standby->is_there, false, memory_order_release);
}

void amg_margo_standby_join(margo_instance_id mid)
{
    if (mid->loops[AMG_MARGO_STANDBY] != ABT_THREAD_NULL)
        ABT_thread_free(&mid->loops[AMG_MARGO_STANDBY]);
    mid->loops[AMG_MARGO_STANDBY] = ABT_THREAD_NULL;
}

bool amg_margo_standby_is_busy(const struct amg_margo_standby *standby)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&standby->is_busy, memory_order_seq_cst);
}

static bool is_asleep(const struct amg_margo_standby *standby)
{
    return atomic_load_explicit(&standby->is_asleep, memory_order_seq_cst);
}

/* Blocks until the standby loop wakes up, or another thread wakes the watcher.
 */
static void watcher_park(margo_instance_id mid)
{
    struct amg_margo_standby *standby = &mid->loop->standby;
    struct amg_margo_wakeup *wakeup = &mid->wakeup;
    unsigned seen = atomic_load_explicit(&wakeup->word, memory_order_acquire);

    atomic_store_explicit(&wakeup->is_parked, true, memory_order_seq_cst);
    if (is_asleep(standby) && is_there(standby))
        amg_margo_runtime_block(&wakeup->word, seen, AMG_NO_DEADLINE);
    atomic_store_explicit(&wakeup->is_parked, false, memory_order_relaxed);
}

/* Number of rounds of the standby loop. */
static uint64_t rounds_of(const struct amg_margo_standby *standby)
{
    return atomic_load_explicit(
        &standby->counts.progress_calls, memory_order_acquire);
}

static bool is_taken_over(const struct amg_margo_standby *standby)
{
    return atomic_load_explicit(&standby->is_taken_over, memory_order_seq_cst);
}

/* Returns when the standby loop has ended, or neither makes rounds nor sleeps:
 * then the watcher makes progress. Result: is the standby loop inside a round
 * all the same, in a callback? */
static bool watch(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    struct amg_margo_standby *standby = &mid->loop->standby;
    uint64_t seen = 0;
    unsigned sleeps = 0;
    bool is_busy = false;

    do {
        unsigned word =
            atomic_load_explicit(&mid->wakeup.word, memory_order_acquire);

        seen = rounds_of(standby);
        sleeps = is_asleep(standby) ? sleeps + 1 : 0;
        if (sleeps > ASLEEP_CHECKS)
            watcher_park(mid);
        else
            amg_margo_runtime_block(
                &mid->wakeup.word, word, amg_clock_deadline_ns(WATCH_MS));
        amg_margo_rounds_yield(mid, rounds);
        is_busy = amg_margo_standby_is_busy(standby);
    } while (is_there(standby) &&
             (is_asleep(standby) || rounds_of(standby) != seen));
    if (is_there(standby))
        atomic_store_explicit(
            &standby->is_taken_over, true, memory_order_relaxed);
    return is_busy;
}

/* Announces a round of the watcher. False: the standby loop is back. The
 * standby loop sets is_busy before it reads is_in_round, so the standby loop or
 * the watcher sees the other. */
static bool watcher_enter(margo_instance_id mid, bool was_busy)
{
    struct amg_margo_standby *standby = &mid->loop->standby;

    atomic_store_explicit(&standby->is_in_round, true, memory_order_seq_cst);
    if (!is_there(standby) ||
        (is_taken_over(standby) &&
            (was_busy || !amg_margo_standby_is_busy(standby))))
        return true;
    atomic_store_explicit(&standby->is_in_round, false, memory_order_release);
    atomic_store_explicit(&standby->is_taken_over, false, memory_order_relaxed);
    return false;
}

void amg_margo_watcher_wait(
    margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    struct amg_margo_standby *standby = &mid->loop->standby;
    bool was_busy = true;

    if (is_there(standby) && mid->pools->progress_pool == standby->pool) {
        atomic_store_explicit(
            &standby->is_dismissed, true, memory_order_relaxed);
        amg_margo_wake(mid);
        return;
    }
    do {
        if (is_there(standby) && !is_taken_over(standby))
            was_busy = watch(mid, rounds);
    } while (!watcher_enter(mid, was_busy));
}

void amg_margo_watcher_leave(struct amg_margo_standby *standby)
{
    atomic_store_explicit(&standby->is_in_round, false, memory_order_release);
}
