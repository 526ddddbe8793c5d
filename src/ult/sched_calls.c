/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions of schedulers, except for their configuration, and functions
 * by which a user-defined scheduler runs a thread that it popped. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "ult/ready_pool.h"
#include "ult/sched.h"
#include "ult/switch_to.h"

static bool config_is_automatic(ABT_sched_config config, bool is_default)
{
    int value = ABT_FALSE;

    if (config == ABT_SCHED_CONFIG_NULL ||
        ABT_sched_config_get(config, ABT_sched_config_automatic.idx, NULL,
            &value) != ABT_SUCCESS)
        return is_default;
    return value != ABT_FALSE;
}

int ABT_sched_create_basic(ABT_sched_predef predef, int num_pools,
    ABT_pool *pools, ABT_sched_config config, ABT_sched *newsched)
{
    struct amg_sched *sched = NULL;
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newsched);
    if (newsched == NULL)
        return rc;
    rc = amg_sched_create(predef, NULL, num_pools, pools,
        config_is_automatic(config, true), &sched);
    if (rc == ABT_SUCCESS)
        *newsched = amg_sched_handle(sched);
    return rc;
}

int ABT_sched_create(ABT_sched_def *def, int num_pools, ABT_pool *pools,
    ABT_sched_config config, ABT_sched *newsched)
{
    struct amg_sched *sched = NULL;
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newsched);
    if (newsched == NULL || def == NULL)
        return rc;
    rc = amg_sched_create(ABT_SCHED_DEFAULT, def, num_pools, pools,
        config_is_automatic(config, false), &sched);
    if (rc != ABT_SUCCESS)
        return rc;
    if (def->init != NULL)
        rc = def->init(amg_sched_handle(sched), config);
    if (rc != ABT_SUCCESS) {
        sched->def.free = NULL; /* so that destroy does not call it */
        amg_sched_undo(sched, num_pools > 0 ? pools : NULL);
        return rc;
    }
    *newsched = amg_sched_handle(sched);
    return ABT_SUCCESS;
}

int ABT_sched_free(ABT_sched *sched)
{
    struct amg_sched *known = sched == NULL ? NULL : amg_sched_of(*sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (atomic_load_explicit(&known->is_used, memory_order_acquire)) {
        AMG_LOG_ERROR("ult",
            "ABT_sched_free: a stream or a pool uses the scheduler; free that "
            "first%s",
            known->is_automatic ? ", which frees the scheduler as well" : "");
        return ABT_ERR_SCHED;
    }
    amg_sched_destroy(known, NULL);
    *sched = ABT_SCHED_NULL;
    return ABT_SUCCESS;
}

int ABT_sched_get_num_pools(ABT_sched sched, int *num_pools)
{
    return AMG_GET(
        ABT_ERR_INV_SCHED, sched, num_pools, amg_sched_of(sched)->count);
}

int ABT_sched_get_pools(
    ABT_sched sched, int max_pools, int idx, ABT_pool *pools)
{
    const struct amg_sched *known = amg_sched_of(sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (idx < 0 || max_pools < 0 || max_pools > known->count - idx ||
        (pools == NULL && max_pools > 0))
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < max_pools; i++)
        pools[i] = amg_ready_pool_handle(known->pools[idx + i]);
    return ABT_SUCCESS;
}

int ABT_sched_get_size(ABT_sched sched, size_t *size)
{
    return AMG_GET(
        ABT_ERR_INV_SCHED, sched, size, amg_sched_size(amg_sched_of(sched)));
}

int ABT_sched_get_total_size(ABT_sched sched, size_t *size)
{
    const struct amg_sched *known = amg_sched_of(sched);

    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (size == NULL)
        return ABT_ERR_INV_ARG;
    *size = 0;
    for (int i = 0; i < known->count; i++)
        *size += amg_ready_pool_total(known->pools[i]);
    return ABT_SUCCESS;
}

struct sched_request {
    struct amg_sched *sched;
    enum amg_sched_ask ask;
    struct amg_claim claim;
};

static void request_make(struct sched_request *request)
{
    /* Release: pairs with the load of amg_sched_is_to_stop(). */
    atomic_fetch_or_explicit(
        &request->sched->asked, request->ask, memory_order_release);
}

/* The list of xstreams is locked: an xstream that ends by the request is freed,
 * with its scheduler, only after the removal from the list. */
static bool request_visit(struct amg_xstream *xstream, void *arg)
{
    struct sched_request *request = arg;

    if (amg_xstream_sched(xstream) != request->sched)
        return false;
    request_make(request);
    amg_xstream_ask_claim(xstream, AMG_XSTREAM_TO_LOOK, &request->claim);
    return true;
}

static int sched_ask(ABT_sched sched, enum amg_sched_ask ask)
{
    struct sched_request request = {.sched = amg_sched_of(sched), .ask = ask};

    if (request.sched == NULL)
        return ABT_ERR_INV_SCHED;
    if (!amg_xstreams_each(request_visit, &request))
        request_make(
            &request); /* a scheduler that runs in a pool, or not yet */
    AMG_TEST_POINT("sched.asked");
    amg_sleeper_wake(&request.claim);
    return ABT_SUCCESS;
}

int ABT_sched_finish(ABT_sched sched)
{
    return sched_ask(sched, AMG_SCHED_TO_FINISH);
}

int ABT_sched_exit(ABT_sched sched)
{
    return sched_ask(sched, AMG_SCHED_TO_EXIT);
}

int ABT_sched_has_to_stop(ABT_sched sched, ABT_bool *stop)
{
    return AMG_GET(ABT_ERR_INV_SCHED, sched, stop,
        amg_sched_has_to_stop(amg_sched_of(sched)));
}

int ABT_sched_set_data(ABT_sched sched, void *data)
{
    return AMG_SET(ABT_ERR_INV_SCHED, amg_sched_of(sched), data, data);
}

int ABT_sched_get_data(ABT_sched sched, void **data)
{
    return AMG_GET(ABT_ERR_INV_SCHED, sched, data, amg_sched_of(sched)->data);
}

int ABT_xstream_check_events(ABT_sched sched)
{
    return sched == ABT_SCHED_NULL ? ABT_ERR_INV_SCHED : ABT_SUCCESS;
}

/* Called by a scheduler; `ult` moves to `pool`, if that is not NULL. */
static int schedule(struct amg_ult *ult, struct amg_ready_pool *pool)
{
    struct amg_xstream *xstream = amg_xstream_self();
    int rc = ABT_SUCCESS;

    if (xstream == NULL)
        return amg_ult_none_code();
    if (pool != NULL)
        rc = amg_ready_pool_adopt(pool, ult);
    if (rc == ABT_SUCCESS)
        amg_ult_run(xstream, ult);
    return rc;
}

int ABT_xstream_run_unit(ABT_unit unit, ABT_pool pool)
{
    struct amg_ult *ult = amg_unit_ult(unit);

    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    return schedule(ult, amg_ready_pool_of(pool));
}

int ABT_self_schedule(ABT_thread thread, ABT_pool pool)
{
    if (thread == ABT_THREAD_NULL)
        return ABT_ERR_INV_THREAD;
    return schedule(amg_ult_of(thread), amg_ready_pool_of(pool));
}

/* Runs the scheduler in a thread of a pool, until it has to stop or its pools
 * are empty. Its own threads go first: the scheduler of the xstream continues
 * when none of these threads is ready, or when the xstream has a request. */
static void run_as_thread(struct amg_sched *sched)
{
    atomic_fetch_or_explicit(
        &sched->asked, AMG_SCHED_TO_FINISH, memory_order_relaxed);
    if (sched->is_users) {
        sched->def.run(amg_sched_handle(sched));
        return;
    }
    while (!amg_sched_is_to_stop(sched)) {
        struct amg_xstream *xstream = amg_xstream_self();
        struct amg_ult *ult = amg_sched_pop(sched);

        if (ult != NULL)
            amg_ult_run(xstream, ult);
        if (ult == NULL ||
            atomic_load_explicit(&xstream->asked, memory_order_relaxed) != 0)
            ABT_thread_yield();
    }
}

/* The function of a thread that runs a scheduler. */
static void sched_thread(void *arg)
{
    struct amg_sched *sched = arg;

    run_as_thread(sched);
    if (sched->is_automatic)
        amg_sched_destroy(sched, NULL);
    else
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
}

int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched)
{
    struct amg_sched *known = amg_sched_of(sched);
    int rc = ABT_ERR_INV_POOL;

    if (pool == ABT_POOL_NULL)
        return rc;
    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (atomic_exchange_explicit(&known->is_used, true, memory_order_acquire))
        return ABT_ERR_SCHED;
    rc = ABT_thread_create(
        pool, sched_thread, known, ABT_THREAD_ATTR_NULL, NULL);
    if (rc != ABT_SUCCESS)
        atomic_store_explicit(&known->is_used, false, memory_order_release);
    return rc;
}
