/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress loop of an instance, and the public calls about it. On a stream
 * that shares its core it may have a standby loop on the program's stream. */
#include "margo/loop.h"

#include "base/assert.h"
#include "margo-util.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/pools.h"

/* The network is the loop's alone when the instance ends. */
static bool is_over(margo_instance_id mid)
{
    struct amg_margo_loop *loop = mid->loop;

    return !(atomic_load_explicit(&mid->is_draining, memory_order_acquire) &&
               amg_margo_standby_is_busy(&loop->standby)) &&
           loop->end->has_drained(mid);
}

static void loop_main(void *arg)
{
    margo_instance_id mid = arg;
    struct amg_margo_loop *loop = mid->loop;
    struct amg_margo_rounds rounds;
    bool has_watch = loop->has_watch;

    amg_margo_rounds_begin(mid, &rounds, &loop->counts);
    while (!is_over(mid)) {
        if (has_watch)
            amg_margo_standby_watch(mid, &rounds);
        amg_margo_rounds_turn(mid, &rounds);
        if (has_watch)
            amg_margo_standby_watched(&loop->standby);
        amg_margo_rounds_give_way(mid, &rounds);
    }
    amg_margo_rounds_end(&rounds);
    loop->end->ended(mid);
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

bool amg_margo_loop_start(margo_instance_id mid,
    const struct amg_margo_loop_end *end, bool shares_core)
{
    int rc = ABT_SUCCESS;

    AMG_ASSERT(mid->loops[AMG_MARGO_LOOP] == ABT_THREAD_NULL);
    AMG_ASSERT(end->has_drained != NULL && end->ended != NULL);
    mid->loop->end = end;
    mid->loop->has_watch = shares_core;
    atomic_store_explicit(&mid->wakeup.timeout_ub_ms,
        mid->config->progress_timeout_ub_ms, memory_order_relaxed);
    rc = ABT_thread_create(mid->pools->progress_pool, loop_main, mid,
        ABT_THREAD_ATTR_NULL, &mid->loops[AMG_MARGO_LOOP]);
    if (rc != ABT_SUCCESS) {
        margo_error(mid,
            "the thread that makes progress cannot be made: "
            "ABT_thread_create() says %d",
            rc);
        return false;
    }
    if (shares_core)
        amg_margo_standby_start(mid);
    return true;
}

void amg_margo_loop_stop(margo_instance_id mid)
{
    amg_margo_standby_join(mid);
    if (mid->loops[AMG_MARGO_LOOP] != ABT_THREAD_NULL)
        ABT_thread_free(&mid->loops[AMG_MARGO_LOOP]);
    mid->loops[AMG_MARGO_LOOP] = ABT_THREAD_NULL;
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
                     calls(&mid->loop->standby.counts.progress_calls);
}

uint64_t margo_get_num_trigger_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : calls(&mid->loop->counts.trigger_calls) +
                     calls(&mid->loop->standby.counts.trigger_calls);
}

int margo_set_progress_timeout_ub_msec(margo_instance_id mid, unsigned timeout)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return -1;
    atomic_store_explicit(
        &mid->wakeup.timeout_ub_ms, timeout, memory_order_relaxed);
    amg_margo_wake(mid);
    return 0;
}

int margo_get_progress_timeout_ub_msec(margo_instance_id mid, unsigned *timeout)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && timeout != NULL))
        return -1;
    *timeout =
        atomic_load_explicit(&mid->wakeup.timeout_ub_ms, memory_order_relaxed);
    return 0;
}

int margo_set_progress_when_needed(margo_instance_id mid, bool when_needed)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
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

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
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
