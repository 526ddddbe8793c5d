/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress loop of an instance, and the public calls about the loop. The loop
 * is a user-level thread: other threads of its stream run between two rounds,
 * and the stream blocks in a round when no other thread is ready.
 *
 * The progress stream may share its core with the program. If only this stream
 * made progress, each call that arrives while the program waits would cost two
 * switches of OS threads. So a second loop, on the program's stream, makes
 * rounds while that stream is idle, and the first loop makes progress only
 * while no other thread does (core/standby.c). One loop at a time has the turn
 * to run callbacks: callbacks of the program need no locks against each other,
 * and handlers begin in order. But if the second loop is parked in a callback
 * for longer than 1 ms, the first loop runs callbacks, too: the parked callback
 * may wait for another callback, or the program may keep the stream busy. */
#include "margo/loop.h"

#include "base/assert.h"
#include "base/lock.h"
#include "base/process.h"
#include "core/context.h"
#include "margo-util.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/runtime.h"
#include "mercury.h"
#include "rpc/hang.h"

void amg_margo_wake(margo_instance_id mid)
{
    struct amg_margo_wakeup *wakeup = &mid->wakeup;
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&wakeup->mutex);

    /* Dekker: this thread stored a change, then reads `gated`; a loop adds to
     * `gated`, then looks for changes. With both fences, one sees the other. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&wakeup->gated, memory_order_seq_cst) > 0) {
        ABT_mutex_lock(mutex);
        wakeup->wakes++;
        ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&wakeup->cond));
        ABT_mutex_unlock(mutex);
    }
    if (mid->hg_context == NULL) /* the instance has ended */
        return;
    AMG_TEST_POINT("margo.wake");
    /* The first loop may be in a standby step even if the second has ended. */
    if (mid->loop->has_second)
        amg_standby_call(&mid->loop->standby, mid->hg_context);
    amg_context_ring(mid->hg_context);
}

/* May the second loop access the context? The caller has seen is_draining. With
 * the fence, this thread sees is_busy, or second_begins() sees is_draining. */
static bool second_is_busy(const struct amg_margo_second *second)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&second->is_busy, memory_order_seq_cst);
}

/* May the loop end? Not while the second loop may access the context. A one-way
 * call of an instance to itself is in no counter until a round finds the call.
 * So an instance that ends without other ranks must have drained both before
 * and after a round that finds nothing. */
static bool is_over(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    bool was_quiet = rounds->was_quiet && rounds->idle_rounds > 0;

    rounds->was_quiet =
        !(atomic_load_explicit(&mid->is_draining, memory_order_acquire) &&
            second_is_busy(&mid->loop->second)) &&
        mid->loop->end->has_drained(mid);
    return rounds->was_quiet &&
           (was_quiet || mid->is_collective || mid->is_abandoned);
}

/* Must the loop's own thread run, because there is more to do than rounds? */
static bool is_called(margo_instance_id mid, struct amg_margo_rounds *rounds)
{
    return atomic_load_explicit(&mid->is_draining, memory_order_acquire) ||
           !amg_margo_rounds_may_rest(mid, rounds);
}

bool amg_margo_loop_stand_in(
    margo_instance_id mid, const atomic_uintptr_t *word, uintptr_t value)
{
    struct amg_margo_loop *loop = mid->loop;
    ABT_thread thread = mid->loops[AMG_MARGO_LOOP];
    bool is_over = false;

    if (thread == ABT_THREAD_NULL ||
        !atomic_load_explicit(&loop->is_at_rest, memory_order_relaxed) ||
        !amg_margo_runtime_take(thread))
        return false;
    /* Dekker: this thread stores `stands_in`, then reads the word; the thread
     * that ends the request stores the word, then reads `stands_in` (seq_cst).
     * So this thread sees the value, or that thread sees `stands_in`. */
    atomic_store_explicit(
        &mid->stands_in, amg_margo_self(), memory_order_seq_cst);
    for (;;) {
        amg_margo_rounds_run(mid, &loop->rounds);
        is_over = atomic_load_explicit(word, memory_order_seq_cst) == value;
        if (is_over || is_called(mid, &loop->rounds))
            break;
        amg_margo_runtime_yield();
    }
    atomic_store_explicit(
        &mid->stands_in, ABT_THREAD_NULL, memory_order_relaxed);
    amg_margo_runtime_give(thread);
    return is_over;
}

/* Sets the role of the OS thread. Not inlined: the compiler could keep the
 * address of the thread-local amg_role over a switch to another OS thread. */
static AMG_NOINLINE void role_set(bool polls_always)
{
    amg_role.polls_always = polls_always;
}

/* Makes the second loop end if the first loop has moved into the same pool. */
static void second_dismiss(margo_instance_id mid)
{
    struct amg_margo_second *second = &mid->loop->second;
    ABT_pool pool = ABT_POOL_NULL;

    if (ABT_self_get_last_pool(&pool) != ABT_SUCCESS || pool != second->pool ||
        !atomic_load_explicit(&second->is_there, memory_order_acquire) ||
        atomic_exchange_explicit(
            &second->is_dismissed, true, memory_order_relaxed))
        return;
    amg_margo_wake(mid);
}

static void loop_main(void *arg)
{
    margo_instance_id mid = arg;
    struct amg_margo_loop *loop = mid->loop;
    struct amg_margo_rounds *rounds = &loop->rounds;

    role_set(!loop->may_stall);
    amg_margo_rounds_begin(mid, rounds, &loop->counts);
    if (loop->has_second) {
        amg_standby_begin(&loop->standby, mid->hg_context, false);
        /* The second loop polls first: its thread owns the biased locks. */
        amg_standby_defer(&loop->standby);
    }
    while (!is_over(mid, rounds)) {
        if (loop->has_second)
            second_dismiss(mid);
        amg_margo_rounds_run(mid, rounds);
        if (amg_margo_rounds_may_rest(mid, rounds))
            amg_margo_rounds_rest(loop);
        else
            amg_margo_rounds_yield(mid, rounds);
    }
    amg_margo_rounds_end(rounds);
    role_set(false);
    loop->end->ended(mid);
}

/* Begins a round of the second loop. False: the loop ends. */
static bool second_begins(margo_instance_id mid)
{
    struct amg_margo_second *second = &mid->loop->second;

    atomic_store_explicit(&second->is_busy, true, memory_order_seq_cst);
    return !atomic_load_explicit(&mid->is_draining, memory_order_seq_cst) &&
           !atomic_load_explicit(&second->is_dismissed, memory_order_relaxed);
}

static void second_main(void *arg)
{
    margo_instance_id mid = arg;
    struct amg_margo_second *second = &mid->loop->second;
    struct amg_margo_rounds rounds;

    amg_margo_rounds_begin(mid, &rounds, &second->counts);
    while (second_begins(mid)) {
        amg_margo_rounds_run(mid, &rounds);
        atomic_store_explicit(&second->is_busy, false, memory_order_release);
        amg_margo_rounds_yield(mid, &rounds);
    }
    amg_margo_rounds_end(&rounds);
    atomic_store_explicit(&second->is_there, false, memory_order_seq_cst);
    /* If the instance does not drain yet, is_busy keeps the context open. */
    if (!atomic_load_explicit(&mid->is_draining, memory_order_seq_cst))
        amg_standby_call(&mid->loop->standby, mid->hg_context);
    atomic_store_explicit(&second->is_busy, false, memory_order_release);
}

/* Starts the second loop in the pool __primary__, unless the first loop runs in
 * it, the context has a progress thread, or a push to a pool wakes no loop. */
static void second_start(margo_instance_id mid)
{
    struct amg_margo_loop *loop = mid->loop;
    struct margo_pool_info info;

    if (!amg_margo_runtime_ends_sleeps() || mid->hg_context->thread != NULL ||
        margo_find_pool_by_name(mid, "__primary__", &info) != HG_SUCCESS ||
        info.pool == mid->pools->progress_pool)
        return;
    loop->has_second = true;
    loop->second.pool = info.pool;
    atomic_store_explicit(&loop->second.is_there, true, memory_order_relaxed);
    if (ABT_thread_create(info.pool, second_main, mid, ABT_THREAD_ATTR_NULL,
            &mid->loops[AMG_MARGO_SECOND]) == ABT_SUCCESS)
        return;
    mid->loops[AMG_MARGO_SECOND] = ABT_THREAD_NULL;
    loop->has_second = false;
}

void amg_margo_loop_init(margo_instance_id mid)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    static const ABT_cond_memory cond = ABT_COND_INITIALIZER;

    mid->wakeup.mutex = mutex;
    mid->wakeup.cond = cond;
    for (unsigned i = 0; i < AMG_MARGO_LOOP_COUNT; i++)
        mid->loops[i] = ABT_THREAD_NULL;
}

void amg_margo_loop_stop(margo_instance_id mid)
{
    for (unsigned i = AMG_MARGO_LOOP_COUNT; i-- > 0;) {
        if (mid->loops[i] != ABT_THREAD_NULL)
            ABT_thread_free(&mid->loops[i]);
        mid->loops[i] = ABT_THREAD_NULL;
    }
}

bool amg_margo_loop_start(margo_instance_id mid,
    const struct amg_margo_loop_end *end, bool shares_core)
{
    int rc = ABT_SUCCESS;

    AMG_ASSERT(mid->loops[AMG_MARGO_LOOP] == ABT_THREAD_NULL);
    AMG_ASSERT(end->has_drained != NULL && end->ended != NULL);
    mid->loop->end = end;
    mid->loop->may_stall = !mid->config->use_progress_thread;
    amg_lock_init(&mid->loop->watch.lock);
    amg_hang_set_show(mid->hg_class, amg_margo_runtime_log_blocked);
    if (!amg_margo_loop_is_elsewhere(mid))
        atomic_init(&mid->loop->mark, amg_bias_mark());
    atomic_store_explicit(&mid->wakeup.timeout_ub_ms,
        mid->config->progress_timeout_ub_ms, memory_order_relaxed);
    if (shares_core)
        second_start(mid);
    rc = ABT_thread_create(mid->pools->progress_pool, loop_main, mid,
        ABT_THREAD_ATTR_NULL, &mid->loops[AMG_MARGO_LOOP]);
    if (rc != ABT_SUCCESS) {
        margo_error(mid,
            "the thread of the progress loop cannot be created: "
            "ABT_thread_create() returned %d",
            rc);
        atomic_store_explicit(
            &mid->loop->second.is_dismissed, true, memory_order_relaxed);
        amg_margo_wake(mid);
        amg_margo_loop_stop(mid);
        return false;
    }
    return true;
}

static uint64_t calls(const _Atomic(uint64_t) *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

uint64_t margo_get_num_progress_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : calls(&mid->loop->counts.progress_calls) +
                     calls(&mid->loop->second.counts.progress_calls);
}

uint64_t margo_get_num_trigger_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : calls(&mid->loop->counts.trigger_calls) +
                     calls(&mid->loop->second.counts.trigger_calls);
}

int margo_set_progress_timeout_ub_msec(margo_instance_id mid, unsigned timeout)
{
    if (!AMG_GIVEN(mid))
        return -1;
    atomic_store_explicit(
        &mid->wakeup.timeout_ub_ms, timeout, memory_order_relaxed);
    amg_margo_wake(mid);
    return 0;
}

int margo_get_progress_timeout_ub_msec(margo_instance_id mid, unsigned *timeout)
{
    if (!AMG_GIVEN(mid) || !AMG_GIVEN(timeout))
        return -1;
    *timeout =
        atomic_load_explicit(&mid->wakeup.timeout_ub_ms, memory_order_relaxed);
    return 0;
}

int margo_set_progress_when_needed(margo_instance_id mid, bool when_needed)
{
    if (!AMG_GIVEN(mid))
        return -1;
    atomic_store_explicit(
        &mid->wakeup.is_when_needed, when_needed, memory_order_relaxed);
    amg_margo_wake(mid);
    return 0;
}

int margo_migrate_progress_loop(margo_instance_id mid, uint32_t pool_idx)
{
    struct margo_pool_info info;
    int rc = ABT_SUCCESS;

    if (!AMG_GIVEN(mid))
        return ABT_ERR_INV_ARG;
    if (amg_margo_state_of(mid) != AMG_MARGO_RUNNING)
        return ABT_ERR_INV_ARG;
    if (margo_find_pool_by_index(mid, pool_idx, &info) != HG_SUCCESS)
        return ABT_ERR_INV_POOL;
    if (info.pool == mid->pools->progress_pool)
        return ABT_SUCCESS;
    rc = ABT_thread_migrate_to_pool(mid->loops[AMG_MARGO_LOOP], info.pool);
    if (rc != ABT_SUCCESS)
        return rc;
    amg_margo_pools_ref(mid, info.pool);
    amg_margo_pools_unref(mid, mid->pools->progress_pool);
    mid->pools->progress_pool = info.pool;
    atomic_store_explicit(&mid->wakeup.is_moving, true, memory_order_relaxed);
    amg_margo_wake(mid);
    return ABT_SUCCESS;
}
