/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs do with pools: the functions of abt_pool.h. */
#include "base/clock.h"
#include "base/log.h"
#include "ult/handle.h"
#include "ult/sched.h"
#include "ult/ult.h"
#include "ult/unit.h"
#include "ult/upool.h"
#include "ult/upool_user.h"

static bool access_is_known(ABT_pool_access access)
{
    return (int)access >= ABT_POOL_ACCESS_PRIV &&
           access <= ABT_POOL_ACCESS_MPMC;
}

int ABT_pool_create_basic(ABT_pool_kind kind, ABT_pool_access access,
    ABT_bool automatic, ABT_pool *newpool)
{
    const struct amg_upool_ops *ops = amg_upool_ops_of(kind);
    struct amg_upool *pool = NULL;

    amg_handle_clear(newpool);
    if (newpool == NULL)
        return ABT_ERR_INV_ARG;
    if (ops == NULL)
        return ABT_ERR_INV_POOL_KIND;
    if (!access_is_known(access))
        return ABT_ERR_INV_POOL_ACCESS;
    pool = amg_upool_create(ops, access, automatic != ABT_FALSE);
    if (pool == NULL)
        return ABT_ERR_MEM;
    *newpool = amg_upool_handle(pool);
    return ABT_SUCCESS;
}

static bool config_is_automatic(ABT_pool_config config)
{
    int is_automatic = ABT_FALSE;

    if (config == ABT_POOL_CONFIG_NULL ||
        ABT_pool_config_get(config, ABT_pool_config_automatic.key, NULL,
            &is_automatic) != ABT_SUCCESS)
        return false;
    return is_automatic != ABT_FALSE;
}

int ABT_pool_create(
    ABT_pool_user_def def, ABT_pool_config config, ABT_pool *newpool)
{
    struct amg_upool *pool = NULL;
    ABT_pool_access access = ABT_POOL_ACCESS_MPMC;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newpool);
    if (def == ABT_POOL_USER_DEF_NULL)
        return ABT_ERR_INV_POOL_USER_DEF;
    if (newpool == NULL)
        return ABT_ERR_INV_ARG;
    if (amg_upool_user_of(def) == NULL && access_is_known(def->access))
        access = def->access;
    pool = amg_upool_create(NULL, access, config_is_automatic(config));
    if (pool == NULL)
        return ABT_ERR_MEM;
    rc = amg_upool_user_open(pool, def, config);
    if (rc != ABT_SUCCESS) {
        amg_upool_destroy(pool);
        return rc;
    }
    *newpool = amg_upool_handle(pool);
    return ABT_SUCCESS;
}

int ABT_pool_free(ABT_pool *pool)
{
    struct amg_upool *known = pool == NULL ? NULL : amg_upool_of(*pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    amg_upool_settle(known);
    if (atomic_load_explicit(&known->users, memory_order_acquire) != 0 ||
        amg_upool_total(known) != 0) {
        AMG_LOG_ERROR("ult",
            "ABT_pool_free: pool %d is used by %u schedulers and has %zu "
            "threads; free these first",
            known->id, atomic_load(&known->users), amg_upool_total(known));
        return ABT_ERR_POOL;
    }
    amg_upool_destroy(known);
    *pool = ABT_POOL_NULL;
    return ABT_SUCCESS;
}

int ABT_pool_get_access(ABT_pool pool, ABT_pool_access *access)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (access == NULL)
        return ABT_ERR_INV_ARG;
    *access = amg_upool_of(pool)->access;
    return ABT_SUCCESS;
}

int ABT_pool_get_total_size(ABT_pool pool, size_t *size)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (size == NULL)
        return ABT_ERR_INV_ARG;
    *size = amg_upool_total(amg_upool_of(pool));
    return ABT_SUCCESS;
}

int ABT_pool_get_size(ABT_pool pool, size_t *size)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (size == NULL)
        return ABT_ERR_INV_ARG;
    *size = amg_upool_size(amg_upool_of(pool));
    return ABT_SUCCESS;
}

int ABT_pool_is_empty(ABT_pool pool, ABT_bool *is_empty)
{
    const struct amg_upool *known = amg_upool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (is_empty == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && !known->user->is_old)
        *is_empty = known->user->is_empty(pool);
    else
        *is_empty = amg_upool_size(known) == 0 ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_pool_get_id(ABT_pool pool, int *id)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (id == NULL)
        return ABT_ERR_INV_ARG;
    *id = amg_upool_of(pool)->id;
    return ABT_SUCCESS;
}

int ABT_pool_set_data(ABT_pool pool, void *data)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    amg_upool_of(pool)->data = data;
    return ABT_SUCCESS;
}

int ABT_pool_get_data(ABT_pool pool, void **data)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (data == NULL)
        return ABT_ERR_INV_ARG;
    *data = amg_upool_of(pool)->data;
    return ABT_SUCCESS;
}

int ABT_pool_print_all_threads(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_thread))
{
    struct amg_upool *known = amg_upool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (print_fn == NULL)
        return ABT_ERR_INV_ARG;
    if (known->ops != NULL) {
        amg_upool_each(known, arg, print_fn);
        return ABT_SUCCESS;
    }
    if (known->user->is_old || known->user->print_all == NULL)
        return ABT_ERR_POOL;
    known->user->print_all(pool, arg, print_fn);
    return ABT_SUCCESS;
}

struct print_units {
    void *arg;
    void (*print_fn)(void *, ABT_unit);
};

static void unit_print(void *arg, ABT_thread thread)
{
    const struct print_units *print = arg;

    print->print_fn(print->arg, amg_unit_of(amg_ult_of(thread)));
}

int ABT_pool_print_all(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_unit))
{
    struct print_units print = {.arg = arg, .print_fn = print_fn};
    struct amg_upool *known = amg_upool_of(pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if (print_fn == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && known->user->is_old &&
        known->user->def.p_print_all != NULL) {
        known->user->def.p_print_all(pool, arg, print_fn);
        return ABT_SUCCESS;
    }
    return ABT_pool_print_all_threads(pool, &print, unit_print);
}
