/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs schedulers: the loop of the main scheduler of an execution stream, the
 * change of that scheduler, and schedulers that run as threads of a pool. */
#include "ult/sched.h"

#include "ult/switch_to.h"

/* Wakes other xstreams for ready threads that this xstream cannot run now. */
static void sched_wake_others(struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++)
        amg_ready_pool_wake_one(sched->pools[i]);
}

/* Called by a scheduler in each round: serves AMG_XSTREAM_TO_LOOK. True: the
 * scheduler has to return. */
static bool sched_has_to_stop(struct amg_sched *sched)
{
    struct amg_xstream *xstream =
        atomic_load_explicit(&sched->xstream, memory_order_relaxed);
    struct amg_ult *primary = NULL;

    /* Acquire: pairs with amg_xstream_ask(). primary_return() (switch_to.c) has
     * set is_own_ready before that call. */
    if (xstream != NULL &&
        (atomic_load_explicit(&xstream->asked, memory_order_relaxed) &
            AMG_XSTREAM_TO_LOOK) != 0) {
        atomic_fetch_and_explicit(&xstream->asked,
            ~(unsigned)AMG_XSTREAM_TO_LOOK, memory_order_acquire);
        /* Runs main() first, if another xstream has returned main(), and lets
         * other xstreams run the remaining threads meanwhile. */
        primary = amg_ult_primary_take();
        if (primary != NULL)
            sched_wake_others(sched);
        amg_ult_run(xstream, primary);
    }
    return amg_sched_is_to_stop(sched);
}

static void sched_loop(struct amg_sched *sched)
{
    struct amg_xstream *xstream =
        atomic_load_explicit(&sched->xstream, memory_order_relaxed);
    bool has_slept = false;

    while (!sched_has_to_stop(sched)) {
        struct amg_ult *ult = amg_sched_pop(sched);

        if (ult == NULL) {
            amg_xstream_sleep(xstream);
            has_slept = true;
            continue;
        }
        if (has_slept)
            sched_wake_others(sched);
        has_slept = false;
        amg_ult_run(xstream, ult);
    }
}

static void sched_run(struct amg_sched *sched)
{
    if (sched->is_users)
        sched->def.run(amg_sched_handle(sched));
    else
        sched_loop(sched);
    /* Pushes may have woken this xstream alone, or no xstream if this xstream
     * was awake. The scheduler returns now: other xstreams run the threads. */
    sched_wake_others(sched);
}

void amg_xstream_run(struct amg_xstream *xstream)
{
    for (;;) {
        sched_run(amg_xstream_sched(xstream));
        if ((amg_xstream_asked(xstream) & AMG_XSTREAM_TO_SWAP) == 0)
            return;
        atomic_fetch_and_explicit(&xstream->asked,
            ~(unsigned)AMG_XSTREAM_TO_SWAP, memory_order_relaxed);
        amg_xstream_set_sched(xstream, xstream->next_sched);
        xstream->next_sched = NULL;
    }
}

int ABT_sched_has_to_stop(ABT_sched sched, ABT_bool *stop)
{
    return AMG_GET(
        ABT_ERR_INV_SCHED, sched, stop, sched_has_to_stop(amg_sched_of(sched)));
}

/* Runs `ult` for a scheduler, after a move to `pool` if `pool` is not NULL. */
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

/* Runs `sched` in a thread of a pool, until `sched` has to stop or its pools
 * are empty. The thread yields to the scheduler of the xstream only when no
 * thread of these pools is ready, or when the xstream has a request. */
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
        amg_sched_release(sched, false, NULL);
}

int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched)
{
    struct amg_sched *known = amg_sched_of(sched);
    int rc = ABT_ERR_INV_POOL;

    if (pool == ABT_POOL_NULL)
        return rc;
    if (known == NULL)
        return ABT_ERR_INV_SCHED;
    if (!amg_sched_take(known))
        return ABT_ERR_SCHED;
    rc = ABT_thread_create(
        pool, sched_thread, known, ABT_THREAD_ATTR_NULL, NULL);
    if (rc != ABT_SUCCESS)
        amg_sched_release(known, false, NULL);
    return rc;
}

/* Moves the calling thread to the first pool of the new scheduler, unless that
 * scheduler has the thread's pool: else maybe no scheduler runs the thread. */
static int self_go_with(const struct amg_sched *sched)
{
    struct amg_ult *self = amg_ult_self();

    if (self == NULL || amg_ult_pool(self) == NULL ||
        amg_sched_has(sched, amg_ult_pool(self)) || sched->count == 0)
        return ABT_SUCCESS;
    return amg_ready_pool_adopt(sched->pools[0], self);
}

/* Replaces the scheduler by `sched`, which the caller has marked as used. */
static int xstream_sched_change(
    struct amg_xstream *xstream, struct amg_sched *sched)
{
    int rc = ABT_SUCCESS;

    if (xstream != amg_xstream_self()) {
        amg_xstream_set_sched(xstream, sched);
        return ABT_SUCCESS;
    }
    rc = self_go_with(sched);
    if (rc != ABT_SUCCESS)
        return rc;
    xstream->next_sched = sched;
    amg_xstream_ask(xstream, AMG_XSTREAM_TO_SWAP);
    return ABT_thread_yield();
}

int ABT_xstream_set_main_sched(ABT_xstream xstream, ABT_sched sched)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);
    struct amg_sched *known = NULL;
    int rc = ABT_SUCCESS;

    if (stream == NULL)
        return ABT_ERR_INV_XSTREAM;
    if (stream == amg_xstream_self() ? amg_ult_self() == NULL
                                     : !amg_xstream_has_ended(stream))
        return ABT_ERR_XSTREAM_STATE;
    rc = amg_sched_default(sched, &known);
    if (rc != ABT_SUCCESS)
        return rc;
    if (!amg_sched_take(known))
        return ABT_ERR_SCHED;
    rc = xstream_sched_change(stream, known);
    if (rc == ABT_SUCCESS)
        return rc;
    amg_sched_release(known, sched == ABT_SCHED_NULL, NULL);
    return rc;
}

int ABT_xstream_set_main_sched_basic(ABT_xstream xstream,
    ABT_sched_predef predef, int num_pools, ABT_pool *pools)
{
    ABT_sched sched = ABT_SCHED_NULL;
    int rc = ABT_ERR_INV_XSTREAM;

    if (xstream == ABT_XSTREAM_NULL)
        return rc;
    rc = ABT_sched_create_basic(
        predef, num_pools, pools, ABT_SCHED_CONFIG_NULL, &sched);
    if (rc != ABT_SUCCESS)
        return rc;
    rc = ABT_xstream_set_main_sched(xstream, sched);
    if (rc != ABT_SUCCESS)
        amg_sched_undo(amg_sched_of(sched), num_pools > 0 ? pools : NULL);
    return rc;
}

int ABT_xstream_get_main_sched(ABT_xstream xstream, ABT_sched *sched)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, sched,
        amg_sched_handle(amg_xstream_sched(amg_xstream_of(xstream))));
}

int ABT_xstream_get_main_pools(
    ABT_xstream xstream, int max_pools, ABT_pool *pools)
{
    const struct amg_sched *sched = NULL;

    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (max_pools < 0 || pools == NULL)
        return ABT_ERR_INV_ARG;
    sched = amg_xstream_sched(amg_xstream_of(xstream));
    for (int i = 0; i < max_pools && i < sched->count; i++)
        pools[i] = amg_ready_pool_handle(sched->pools[i]);
    return ABT_SUCCESS;
}
