/* SPDX-License-Identifier: BSD-3-Clause */
/* Watch over the progress loop, for threads that wait for the loop.
 *
 * The loop may share a stream with the program, which may keep that stream in
 * other code: in pthread_join(), in MPI, in a computation. A thread of another
 * stream, or an OS thread, that waits for the loop would then wait for ever,
 * without a log line; a time limit would not end its wait, because the loop
 * fires all timers. So such a thread ends a wait at its time limit itself
 * (request.c), and sets a watch before it waits.
 *
 * The watch is a tick, a timed call by the runtime. The tick checks whether the
 * loop makes rounds or sleeps in HG_Progress(). If the loop has done neither
 * for AMALGAM_SILENT_MS, the tick logs the calls and handlers that wait. A tick
 * sets the next tick while calls, handlers or the finalization wait. A wait
 * that begins just when a tick finds no waits may have no watch until another
 * wait begins: the log line is late, or missing. A loop that never runs in a
 * stream of the program needs no watch. */
#include "margo/loop.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "margo-util.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/runtime.h"

enum { TICK_MS = 1000, MS_PER_S = 1000 };

/* Time between two ticks; 0: no ticks. */
static unsigned tick_ms(void)
{
    uint64_t silent_ms = amg_env_number(AMG_ENV_SILENT);

    return silent_ms < TICK_MS ? (unsigned)silent_ms : TICK_MS;
}

static bool waits(margo_instance_id mid)
{
    return atomic_load_explicit(&mid->operations, memory_order_acquire) > 0 ||
           atomic_load_explicit(&mid->handlers, memory_order_acquire) > 0 ||
           amg_margo_state_of(mid) == AMG_MARGO_FINALIZING;
}

static void stall_log(margo_instance_id mid, unsigned silent_ms)
{
    struct margo_pool_info info = {.name = "?"};

    (void)margo_find_pool_by_handle(mid, mid->pools->progress_pool, &info);
    margo_warning(mid,
        "nobody has run the progress loop for %.1f s, and %u calls and "
        "%u handlers wait for it: the stream that runs the pool %s executes "
        "other code. Let that code wait in calls of Margo or Argobots, such as "
        "margo_wait_for_finalize() or ABT_thread_join(), or give the loop a "
        "stream of its own by use_progress_thread",
        silent_ms / (double)MS_PER_S,
        atomic_load_explicit(&mid->operations, memory_order_relaxed),
        atomic_load_explicit(&mid->handlers, memory_order_relaxed), info.name);
    amg_margo_handles_log(mid);
}

/* Has no loop made a round since the last tick, and is the first loop not in
 * the sleep of a round, which an event would end? */
static bool is_stalled(margo_instance_id mid)
{
    struct amg_margo_watch *watch = &mid->loop->watch;
    uint64_t rounds = margo_get_num_progress_calls(mid);
    bool is_same = rounds == watch->rounds;

    watch->rounds = rounds;
    return is_same && !atomic_load_explicit(
                          &mid->loop->counts.is_asleep, memory_order_relaxed);
}

/* The call of the tick, in a thread of the runtime that must not block. */
static void watch_tick(void *arg)
{
    margo_instance_id mid = arg;
    struct amg_margo_watch *watch = &mid->loop->watch;

    watch->silent_ms = is_stalled(mid) ? watch->silent_ms + tick_ms() : 0;
    if (watch->silent_ms >= amg_env_number(AMG_ENV_SILENT)) {
        if (waits(mid))
            stall_log(mid, watch->silent_ms);
        watch->silent_ms = 0;
    }
    amg_lock_lock(&watch->lock);
    if (watch->is_closed || !waits(mid) ||
        !amg_margo_runtime_tick_set(
            watch->tick, amg_clock_deadline_ns(tick_ms())))
        atomic_store_explicit(&watch->is_set, false, memory_order_relaxed);
    amg_lock_unlock(&watch->lock);
}

void amg_margo_watch_set(margo_instance_id mid)
{
    struct amg_margo_watch *watch = &mid->loop->watch;

    if (tick_ms() == 0 ||
        atomic_load_explicit(&watch->is_set, memory_order_relaxed))
        return;
    amg_lock_lock(&watch->lock);
    if (!watch->is_closed &&
        !atomic_load_explicit(&watch->is_set, memory_order_relaxed)) {
        watch->rounds = margo_get_num_progress_calls(mid);
        watch->silent_ms = 0;
        if (watch->tick == NULL)
            watch->tick = amg_margo_runtime_tick_create(watch_tick, mid);
        atomic_store_explicit(&watch->is_set,
            watch->tick != NULL && amg_margo_runtime_tick_set(watch->tick,
                                       amg_clock_deadline_ns(tick_ms())),
            memory_order_relaxed);
    }
    amg_lock_unlock(&watch->lock);
}

void amg_margo_watch_close(margo_instance_id mid)
{
    struct amg_margo_watch *watch = &mid->loop->watch;
    struct amg_margo_tick *tick = NULL;

    amg_lock_lock(&watch->lock);
    watch->is_closed = true;
    tick = watch->tick;
    watch->tick = NULL;
    amg_lock_unlock(&watch->lock);
    /* A tick that is running sees is_closed, and sets no further tick. */
    amg_margo_runtime_tick_destroy(tick);
}
