/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread goes over to another pool when it is asked to. */
#include "ult/migrate.h"

#include "base/test_point.h"
#include "ult/handle.h"
#include "ult/state.h"
#include "ult/stream.h"
#include "ult/upool.h"

void amg_ult_migrate_now(struct amg_ult *ult)
{
    struct amg_upool *target =
        atomic_exchange_explicit(&ult->migrates_to, NULL, memory_order_acquire);

    if (target == NULL)
        return;
    amg_ult_set_pool(ult, target);
    if (ult->on_migration != NULL)
        ult->on_migration(amg_ult_handle(ult), ult->on_migration_arg);
}

/* May it go anywhere? An ABT code. */
static int migration_check(const struct amg_ult *ult)
{
    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (ult->kind == AMG_ULT_PRIMARY || ult->kind == AMG_ULT_SCHEDULER ||
        amg_ult_state(ult) == AMG_ULT_ENDED)
        return ABT_ERR_INV_THREAD;
    return ult->is_migratable ? ABT_SUCCESS : ABT_ERR_MIGRATION_NA;
}

static void migration_ask(struct amg_ult *ult, struct amg_upool *target)
{
    struct amg_upool *pool = NULL;

    /* Release: pairs with the acquire of amg_ult_migrate(). */
    atomic_store_explicit(&ult->migrates_to, target, memory_order_release);
    if (amg_ult_state(ult) != AMG_ULT_READY)
        return; /* it goes when it is next made ready */
    pool = amg_ult_pool(ult);
    AMG_TEST_POINT("migrate.ask");
    if (!amg_upool_remove(pool, ult))
        return;
    amg_ult_migrate(ult);
    amg_upool_push_for(
        amg_ult_pool(ult), ult, ABT_POOL_CONTEXT_OP_THREAD_MIGRATE);
}

int ABT_thread_migrate_to_pool(ABT_thread thread, ABT_pool pool)
{
    struct amg_ult *ult = amg_ult_of(thread);
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (amg_ult_pool(ult) == amg_upool_of(pool))
        return ABT_ERR_MIGRATION_TARGET;
    migration_ask(ult, amg_upool_of(pool));
    return ABT_SUCCESS;
}

int ABT_thread_migrate_to_sched(ABT_thread thread, ABT_sched sched)
{
    struct amg_ult *ult = amg_ult_of(thread);
    ABT_pool pool = ABT_POOL_NULL;
    int pools = 0;
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    if (sched == ABT_SCHED_NULL ||
        ABT_sched_get_num_pools(sched, &pools) != ABT_SUCCESS)
        return ABT_ERR_INV_SCHED;
    for (int i = pools - 1; i >= 0; i--) {
        if (ABT_sched_get_pools(sched, 1, i, &pool) != ABT_SUCCESS)
            return ABT_ERR_INV_SCHED;
        if (amg_ult_pool(ult) == amg_upool_of(pool))
            return ABT_ERR_MIGRATION_TARGET;
    }
    return pool == ABT_POOL_NULL ? ABT_ERR_INV_SCHED
                                 : ABT_thread_migrate_to_pool(thread, pool);
}

int ABT_thread_migrate_to_xstream(ABT_thread thread, ABT_xstream xstream)
{
    ABT_sched sched = ABT_SCHED_NULL;
    int rc = migration_check(amg_ult_of(thread));

    if (rc != ABT_SUCCESS)
        return rc;
    if (xstream == ABT_XSTREAM_NULL ||
        ABT_xstream_get_main_sched(xstream, &sched) != ABT_SUCCESS)
        return ABT_ERR_INV_XSTREAM;
    return ABT_thread_migrate_to_sched(thread, sched);
}

int ABT_thread_migrate(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);
    struct amg_upool *target = NULL;
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    target = amg_stream_other_pool(amg_ult_pool(ult));
    if (target == NULL)
        return ABT_ERR_MIGRATION_NA;
    migration_ask(ult, target);
    return ABT_SUCCESS;
}

int ABT_thread_set_callback(ABT_thread thread,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    ult->on_migration = cb_func;
    ult->on_migration_arg = cb_arg;
    return ABT_SUCCESS;
}

int ABT_thread_set_migratable(ABT_thread thread, ABT_bool migratable)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL || ult->kind == AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    ult->is_migratable = migratable != ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_is_migratable(ABT_thread thread, ABT_bool *is_migratable)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (is_migratable == NULL)
        return ABT_ERR_INV_ARG;
    *is_migratable = ult->is_migratable ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}
