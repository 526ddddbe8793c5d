/* SPDX-License-Identifier: BSD-3-Clause */
/* Finalization of an instance, which any thread may request.
 *
 *   step                              performed by
 *   prefinalize callbacks             the first caller; if a callback of the
 *                                     loop is the caller, a new thread
 *   wait for calls and handlers, at   the loop, which still runs
 *   most two time limits; in a job,
 *   until all ranks are at this step
 *   finalize callbacks                a waiting thread that runs in none of the
 *                                     streams that end; else the loop
 *   close class and context, once     the thread of the step before, or the
 *   there are no references           thread that releases the last reference
 *   join the loop, end the streams    a waiting or a releasing thread, if it
 *   and pools                         runs in none of these streams
 *
 * So a handler can request the end, and a thread that waits for the end does
 * the rest. A thread that runs handlers or callbacks of the instance never
 * waits. While a handler runs, margo_finalize() waits only in the primary
 * thread. */
#include "margo/loop.h"

#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/bias.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/list.h"
#include "base/lock.h"
#include "core/context.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/request.h"
#include "margo/rpc.h"
#include "rpc/group.h"

/* Pending operations are logged for the first time after 1/LOG_PART of the time
 * limit, then each time after twice as long, up to AMALGAM_SILENT_MS. */
enum { LOG_PART = 10 };

void amg_margo_finalize_init(margo_instance_id mid)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    static const ABT_cond_memory cond = ABT_COND_INITIALIZER;
    struct amg_margo_finalize *finalize = mid->finalize;

    finalize->mutex = mutex;
    finalize->cond = cond;
    amg_lock_init(&finalize->callbacks.lock);
    amg_list_init(&finalize->callbacks.before);
    amg_list_init(&finalize->callbacks.after);
    atomic_init(&finalize->runner, ABT_THREAD_NULL);
}

static void finalize_lock(margo_instance_id mid)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex));
}

static void finalize_unlock(margo_instance_id mid)
{
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex));
}

static void change_notify(margo_instance_id mid)
{
    ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&mid->finalize->cond));
}

/* Waits for a change, with the mutex locked. After AMALGAM_SILENT_MS, logs that
 * the end waits for `what`, and returns. `what` NULL: no log; see watch.c. */
static void change_await(margo_instance_id mid, const char *what)
{
    ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(&mid->finalize->cond);
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex);
    unsigned silent_ms = (unsigned)amg_env_number(AMG_ENV_SILENT);
    struct timespec moment;

    if (what == NULL || silent_ms == 0) {
        ABT_cond_wait(cond, mutex);
        return;
    }
    moment = amg_margo_moment(silent_ms);
    if (ABT_cond_timedwait(cond, mutex, &moment) == ABT_SUCCESS)
        return;
    ABT_mutex_unlock(mutex);
    margo_warning(mid, "the end of the instance has waited %u ms for %s",
        silent_ms, what);
    ABT_mutex_lock(mutex);
}

/* Cancels a quiescence that has timed out, and runs its callback. */
static void quiet_cancel(margo_instance_id mid)
{
    unsigned count = 0;

    amg_quiet_look(mid->hg_context, AMG_CONTEXT_NEVER);
    while (HG_Trigger(mid->hg_context, 0, 1, &count) == HG_SUCCESS)
        ;
}

static void hg_close(margo_instance_id mid)
{
    hg_return_t rc = HG_SUCCESS;

    if (mid->quiet.has_begun)
        quiet_cancel(mid);
    if (mid->hg_context != NULL && mid->owns_context)
        rc = HG_Context_destroy(mid->hg_context);
    if (rc != HG_SUCCESS)
        margo_error(mid,
            "the context stays open: HG_Context_destroy() returned %s; the "
            "line before this one says what is in use",
            HG_Error_to_string(rc));
    else if (mid->hg_class != NULL && mid->owns_class &&
             (rc = HG_Finalize(mid->hg_class)) != HG_SUCCESS)
        margo_error(mid,
            "the class stays open: HG_Finalize() returned %s; the line before "
            "this one says what is still in use and must be freed before "
            "margo_finalize()",
            HG_Error_to_string(rc));
    mid->hg_context = NULL;
    mid->hg_class = NULL;
}

void amg_margo_close_network(margo_instance_id mid)
{
    if (mid->is_abandoned)
        return;
    amg_margo_handles_close(mid);
    amg_margo_rpcs_fini(mid);
    amg_margo_services_close(mid);
    hg_close(mid);
    amg_margo_monitoring_close(mid);
}

/* Stores that the calling thread runs callbacks, or that no thread does. */
static void runner_set(margo_instance_id mid, bool runs)
{
    ABT_thread self = amg_margo_self();

    atomic_store_explicit(&mid->finalize->runner, runs ? self : ABT_THREAD_NULL,
        memory_order_relaxed);
    atomic_store_explicit(&mid->finalize->runner_os,
        runs && self == ABT_THREAD_NULL ? amg_bias_mark() : 0,
        memory_order_relaxed);
}

static bool is_runner(margo_instance_id mid)
{
    ABT_thread self = amg_margo_self();

    if (self != ABT_THREAD_NULL)
        return self == atomic_load_explicit(
                           &mid->finalize->runner, memory_order_relaxed);
    return amg_bias_mark() == atomic_load_explicit(&mid->finalize->runner_os,
                                  memory_order_relaxed);
}

static bool may_wait(margo_instance_id mid)
{
    return !amg_margo_handler_is_self(mid) && !amg_margo_is_loop(mid) &&
           !is_runner(mid) && !amg_margo_is_tasklet();
}

/* May the caller end the streams of the instance? */
static bool may_end_streams(margo_instance_id mid)
{
    struct margo_xstream_info info;
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_bool is_primary = ABT_FALSE;

    if (ABT_xstream_self(&self) != ABT_SUCCESS || self == ABT_XSTREAM_NULL)
        return true;
    if (ABT_self_on_primary_xstream(&is_primary) == ABT_SUCCESS &&
        is_primary == ABT_TRUE)
        return true;
    return margo_find_xstream_by_handle(mid, self, &info) != HG_SUCCESS;
}

static void deadline_set(margo_instance_id mid)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_FINALIZE_TIMEOUT);

    mid->finalize->deadline_ns = amg_clock_deadline_ns(timeout_ms);
    mid->finalize->log_ms = timeout_ms / LOG_PART;
    mid->finalize->log_ns = amg_clock_deadline_ns(mid->finalize->log_ms);
}

static void before_run(void *arg)
{
    margo_instance_id mid = arg;
    struct margo_monitor_prefinalize_args event = {.uctx = {.p = NULL}};

    AMG_MARGO_NOTIFY(mid, prefinalize, MARGO_MONITOR_FN_START, &event);
    runner_set(mid, true);
    amg_margo_callbacks_run(mid, true);
    runner_set(mid, false);
    AMG_MARGO_NOTIFY(mid, prefinalize, MARGO_MONITOR_FN_END, &event);
    deadline_set(mid);
    /* The lock keeps the context open: loop_ended() must wait for the lock. */
    finalize_lock(mid);
    atomic_store_explicit(&mid->is_draining, true, memory_order_release);
    amg_margo_wake(mid);
    finalize_unlock(mid);
}

/* Begins the finalization. False: an earlier call has begun it. */
static bool finalize_begin(margo_instance_id mid)
{
    bool is_first = false;

    finalize_lock(mid);
    is_first = amg_margo_state_of(mid) == AMG_MARGO_RUNNING;
    if (is_first) {
        mid->finalize->wait = amg_status_wait(
            mid->hg_class->job.status, AMG_AWAIT_MARGO_FINALIZE);
        amg_margo_instance_set_state(mid, AMG_MARGO_FINALIZING);
    }
    finalize_unlock(mid);
    if (!is_first)
        return false;
    amg_margo_refs_finalize(mid);
    /* Callbacks may wait for progress, so the loop does not run them. */
    if (!amg_margo_is_loop(mid) ||
        ABT_thread_create(mid->pools->progress_pool, before_run, mid,
            ABT_THREAD_ATTR_NULL, NULL) != ABT_SUCCESS)
        before_run(mid);
    return true;
}

/* Logs now and then what finalization waits for. */
static void wait_log(
    margo_instance_id mid, unsigned operations, unsigned handlers)
{
    if (amg_clock_ns() < mid->finalize->log_ns)
        return;
    if (mid->finalize->log_ms < amg_env_number(AMG_ENV_SILENT) / 2)
        mid->finalize->log_ms *= 2;
    mid->finalize->log_ns = amg_clock_deadline_ns(mid->finalize->log_ms);
    margo_warning(mid,
        "finalize waits for %u running handlers and %u calls in flight:",
        handlers, operations);
    amg_margo_handles_log(mid);
}

/* Have all operations and handlers of the instance ended? After the time limit,
 * cancels operations; after a second time limit, gives up and returns true. */
static bool is_quiet(margo_instance_id mid)
{
    unsigned operations =
        atomic_load_explicit(&mid->operations, memory_order_acquire);
    unsigned handlers =
        atomic_load_explicit(&mid->handlers, memory_order_acquire);

    if (operations == 0 && handlers == 0) {
        amg_margo_counts_sync(mid);
        return true;
    }
    wait_log(mid, operations, handlers);
    if (amg_clock_ns() < mid->finalize->deadline_ns)
        return false;
    if (!mid->finalize->was_cancelled) {
        margo_warning(mid,
            "finalize cancels calls after AMALGAM_FINALIZE_TIMEOUT_MS: %u "
            "calls are in flight, and %u handlers run",
            operations, handlers);
        mid->finalize->was_cancelled = true;
        deadline_set(mid);
        amg_margo_calls_cancel(mid);
        amg_margo_bulk_cancel(mid);
        return false;
    }
    margo_error(mid,
        "finalize gives up on %u calls and %u handlers that do not end; their "
        "memory is not freed; margo_state_dump() shows where handlers wait",
        operations, handlers);
    mid->is_abandoned = true;
    return true;
}

/* Called by the loop between two rounds: may the loop end? */
static bool has_drained(margo_instance_id mid)
{
    if (!atomic_load_explicit(&mid->is_draining, memory_order_acquire) ||
        !is_quiet(mid))
        return false;
    return !mid->is_collective || amg_class_quiesce(mid->hg_class) != HG_AGAIN;
}

/* Runs finalize callbacks, drops the reference of the finalization, and wakes
 * all waiting threads. */
static void finalize_stop(margo_instance_id mid)
{
    struct margo_monitor_finalize_args event = {.uctx = {.p = NULL}};

    AMG_ASSERT(amg_margo_state_of(mid) == AMG_MARGO_STOPPED);
    amg_margo_watch_close(mid);
    amg_margo_timers_fini(mid);
    amg_status_waited(mid->hg_class->job.status, mid->finalize->wait);
    AMG_MARGO_NOTIFY(mid, finalize, MARGO_MONITOR_FN_START, &event);
    runner_set(mid, true);
    amg_margo_callbacks_run(mid, false);
    runner_set(mid, false);
    AMG_MARGO_NOTIFY(mid, finalize, MARGO_MONITOR_FN_END, &event);
    amg_margo_refs_finalized(mid);
    finalize_lock(mid);
    mid->finalize->is_stopped = true;
    change_notify(mid);
    finalize_unlock(mid);
}

static void close_rest(margo_instance_id mid)
{
    amg_margo_loop_stop(mid);
    if (mid->is_abandoned)
        return;
    amg_margo_pools_close(mid);
    amg_margo_config_free(mid->config);
}

/* Ends streams and pools; a second caller waits until the first has done so.
 * Called by threads that run in none of these streams. */
static void streams_end(margo_instance_id mid)
{
    bool is_mine = false;

    finalize_lock(mid);
    is_mine = !mid->finalize->is_ending_streams;
    mid->finalize->is_ending_streams = true;
    while (!is_mine && amg_margo_state_of(mid) != AMG_MARGO_CLOSED)
        change_await(mid, "another thread to end its streams");
    finalize_unlock(mid);
    if (!is_mine)
        return;
    AMG_ASSERT(amg_margo_state_of(mid) == AMG_MARGO_STOPPED);
    close_rest(mid);
    finalize_lock(mid);
    amg_margo_instance_set_state(mid, AMG_MARGO_CLOSED);
    change_notify(mid);
    finalize_unlock(mid);
    /* Handlers of an abandoned instance still run: ABT_finalize(), which joins
     * their streams, would never return. */
    if (!mid->is_abandoned)
        amg_margo_runtime_leave();
}

/* If no reference is left, closes the instance or waits until it is closed. */
static void close_if_unreferenced(margo_instance_id mid, bool ends_streams)
{
    bool is_mine = false;

    if (!amg_margo_refs_close(mid, &is_mine))
        return;
    if (is_mine)
        amg_margo_close_network(mid);
    finalize_lock(mid);
    if (is_mine) {
        mid->finalize->is_closed = true;
        change_notify(mid);
    }
    while (!mid->finalize->is_closed)
        change_await(mid, "another thread to close its class");
    finalize_unlock(mid);
    if (ends_streams)
        streams_end(mid);
}

/* The loop's last act: does the next steps, unless a waiting thread does. */
static void loop_ended(margo_instance_id mid)
{
    bool is_mine = false;

    amg_margo_instance_set_state(mid, AMG_MARGO_STOPPED);
    finalize_lock(mid);
    mid->finalize->is_drained = true;
    is_mine = mid->finalize->closers == 0 && !mid->finalize->is_claimed;
    mid->finalize->is_claimed = mid->finalize->is_claimed || is_mine;
    change_notify(mid);
    finalize_unlock(mid);
    if (!is_mine)
        return;
    finalize_stop(mid);
    close_if_unreferenced(mid, false);
}

const struct amg_margo_loop_end amg_margo_finalize_of_loop = {
    .has_drained = has_drained,
    .ended = loop_ended,
};

/* Waits for the end of the loop, and does the remaining steps; called only by
 * threads for which may_wait() is true. */
static void finalize_finish(margo_instance_id mid)
{
    bool ends_streams = may_end_streams(mid);
    bool is_mine = false;

    if (amg_margo_loop_may_stall(mid) &&
        amg_margo_state_of(mid) == AMG_MARGO_FINALIZING)
        amg_margo_watch_set(mid);
    finalize_lock(mid);
    mid->finalize->closers += ends_streams;
    while (!mid->finalize->is_drained)
        change_await(mid, NULL);
    is_mine = ends_streams && !mid->finalize->is_claimed;
    mid->finalize->is_claimed = mid->finalize->is_claimed || is_mine;
    finalize_unlock(mid);
    if (is_mine)
        finalize_stop(mid);
    finalize_lock(mid);
    while (!mid->finalize->is_stopped)
        change_await(mid, "the finalize callbacks, which another thread runs");
    finalize_unlock(mid);
    close_if_unreferenced(mid, ends_streams);
    finalize_lock(mid);
    mid->finalize->closers -= ends_streams;
    finalize_unlock(mid);
}

/* Waits for the end, unless the end would wait for the caller. */
static void finish_or_refuse(margo_instance_id mid, const char *caller)
{
    if (may_wait(mid))
        finalize_finish(mid);
    else
        margo_error(mid,
            "%s: called by a tasklet, or by a handler or a callback of the "
            "instance, which would wait for its own end; margo_finalize() asks "
            "for the end and returns",
            caller);
}

/* May a running handler wait for the calling thread, for example because the
 * handler has started that thread? If so, the caller does not wait, and the
 * loop ends the instance after the last handler. The primary thread always
 * waits, because MPI_Finalize() may follow. */
static bool may_be_awaited(margo_instance_id mid)
{
    ABT_bool is_primary = ABT_FALSE;

    return atomic_load_explicit(&mid->handlers, memory_order_acquire) > 0 &&
           !(ABT_self_is_primary(&is_primary) == ABT_SUCCESS &&
               is_primary == ABT_TRUE);
}

void margo_finalize(margo_instance_id mid)
{
    bool is_first = false;
    bool is_alone = false;

    if (!amg_margo_instance_enter_or_log(mid, __func__))
        return;
    is_first = finalize_begin(mid);
    finalize_lock(mid);
    is_alone = mid->finalize->closers == 0;
    finalize_unlock(mid);
    if (may_wait(mid) && !may_be_awaited(mid) && (is_first || is_alone))
        finalize_finish(mid);
    amg_margo_instance_leave(mid);
}

void margo_finalize_and_wait(margo_instance_id mid)
{
    if (!amg_margo_instance_enter_or_log(mid, __func__))
        return;
    finalize_begin(mid);
    finish_or_refuse(mid, __func__);
    amg_margo_instance_leave(mid);
}

void margo_wait_for_finalize(margo_instance_id mid)
{
    if (!amg_margo_instance_enter_or_log(mid, __func__))
        return;
    finish_or_refuse(mid, __func__);
    amg_margo_instance_leave(mid);
}

hg_return_t margo_instance_is_finalized(margo_instance_id mid, bool *flag)
{
    if (!AMG_GIVEN(flag) || !amg_margo_instance_enter(mid))
        return HG_INVALID_ARG;
    finalize_lock(mid);
    *flag = mid->finalize->is_stopped;
    finalize_unlock(mid);
    amg_margo_instance_leave(mid);
    return HG_SUCCESS;
}

hg_return_t margo_instance_release(margo_instance_id mid)
{
    bool begins = false;
    hg_return_t rc = HG_SUCCESS;

    if (amg_margo_instance_unref_many(mid))
        return HG_SUCCESS;
    if (!amg_margo_instance_enter(mid))
        return HG_INVALID_ARG;
    if (!amg_margo_instance_unref(mid, &begins)) {
        margo_error(mid,
            "%s: the caller has no reference to the instance, which is ending",
            __func__);
        rc = HG_INVALID_ARG;
    } else if (!begins) {
        close_if_unreferenced(mid, may_end_streams(mid));
    } else {
        finalize_begin(mid);
        if (may_wait(mid))
            finalize_finish(mid);
    }
    amg_margo_instance_leave(mid);
    return rc;
}

/* For thallium.hpp: the end of an instance whose last engine goes away.
 *
 * In Thallium up to 0.5 the destructor of a server's engine waited until
 * finalize() was called, so main() could simply return; in Thallium 0.16 the
 * destructor ends nothing. Here the destructor does not wait for a server that
 * no process can call: without an RPC of the program and without remote
 * shutdown the instance ends at once. A server that waits logs the wait after a
 * second, by a timer; the end of the instance fires a timer that remains. */
enum { LOG_AFTER_MS = 1000 };

/* A thread that waits for the end; on that thread's stack. */
struct end_wait {
    struct amg_margo_timer timer;
    margo_instance_id mid;
};

static void engine_log(struct amg_margo_timer *timer, bool is_due)
{
    const struct end_wait *wait =
        amg_container_of(timer, struct end_wait, timer);

    if (is_due && amg_margo_state_of(wait->mid) == AMG_MARGO_RUNNING)
        margo_warning(wait->mid,
            "the last engine of this server was destroyed without "
            "finalize(): the server goes on, and waits for "
            "finalize(); AMALGAM_ENGINE_WAIT=0 ends instead");
}

static void finalize_await(margo_instance_id mid)
{
    struct end_wait wait = {.timer = {.fire = engine_log}, .mid = mid};

    (void)amg_margo_timer_arm(
        mid, &wait.timer, amg_clock_deadline_ns(LOG_AFTER_MS));
    margo_wait_for_finalize(mid);
    AMG_ASSERT(!wait.timer.is_armed);
}

static bool may_be_called(margo_instance_id mid)
{
    return amg_margo_rpcs_are_served(mid) ||
           atomic_load_explicit(
               &mid->services->allows_shutdown, memory_order_relaxed);
}

void amalgam_margo_engine_end(
    margo_instance_id mid, enum amalgam_margo_engine_how how)
{
    bool is_running = false;

    if (!AMG_GIVEN(mid))
        return;
    is_running = amg_margo_state_of(mid) == AMG_MARGO_RUNNING;
    if (how == AMALGAM_MARGO_ENGINE_RELEASES) {
        if (is_running)
            (void)margo_instance_release(mid);
    } else if (!may_wait(mid)) {
        if (is_running)
            margo_finalize(mid);
    } else if (how == AMALGAM_MARGO_ENGINE_WAITS && is_running &&
               amg_env_number(AMG_ENV_ENGINE_WAIT) != 0 && may_be_called(mid)) {
        finalize_await(mid);
    } else {
        margo_finalize_and_wait(mid);
    }
}
