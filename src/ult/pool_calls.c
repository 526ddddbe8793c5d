/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs push and pop by themselves: the functions of abt_pool.h that do. */
#include "base/clock.h"
#include "ult/handle.h"
#include "ult/sched.h"
#include "ult/state.h"
#include "ult/stream.h"
#include "ult/ult.h"
#include "ult/unit.h"
#include "ult/upool.h"
#include "ult/upool_user.h"

#define NS_PER_S 1e9

/* Longer ones have no limit: a hundred years. */
#define SECS_MAX 3e9

static uint64_t deadline_after(double secs)
{
    if (!(secs > 0))
        return 0;
    if (secs > SECS_MAX)
        return AMG_NO_DEADLINE;
    return amg_clock_ns() + (uint64_t)(secs * NS_PER_S);
}

/* Has the scheduler of the caller's stream something else to do than to wait?
 * Not merely since it is joined, while threads of its pools are blocked. */
static bool stream_is_asked(struct amg_stream *stream)
{
    return stream != NULL &&
           ((atomic_load_explicit(&stream->asked, memory_order_acquire) &
                ~(unsigned)AMG_STREAM_TO_JOIN) != 0 ||
               amg_sched_is_to_stop(
                   atomic_load_explicit(&stream->sched, memory_order_relaxed)));
}

/* Sleeps until the pool has something, the moment has come, or the caller's
 * stream is asked for something. */
static void pool_wait(struct amg_upool *pool, uint64_t deadline_ns)
{
    struct amg_stream *stream = amg_stream_self();
    struct amg_sleeper own;
    struct amg_watch watch = {.link = {.next = NULL}};

    amg_sleeper_init(&own);
    watch.sleeper = stream == NULL ? &own : &stream->sleeper;
    amg_sleeper_announce(watch.sleeper, NULL);
    if (amg_upool_watch(pool, &watch) && !stream_is_asked(stream))
        amg_sleeper_sleep(watch.sleeper, deadline_ns);
    amg_sleeper_rise(watch.sleeper);
    amg_upool_unwatch(pool, &watch);
}

static struct amg_ult *pop_until(struct amg_upool *pool, uint64_t deadline_ns)
{
    struct amg_ult *ult = amg_upool_pop(pool);

    while (ult == NULL && amg_clock_ns() < deadline_ns &&
           !stream_is_asked(amg_stream_self())) {
        pool_wait(pool, deadline_ns);
        ult = amg_upool_pop(pool);
    }
    return ult;
}

/* By the definition, where it can. */
static struct amg_ult *pop_wait(
    struct amg_upool *pool, double secs, ABT_pool_context context)
{
    const struct amg_upool_user *user = pool->user;
    struct amg_ult *ult = NULL;
    ABT_unit unit = ABT_UNIT_NULL;

    if (user != NULL && !user->is_old && user->pop_wait != NULL) {
        ult = amg_ult_of(user->pop_wait(amg_upool_handle(pool), secs, context));
    } else if (user != NULL && user->is_old && user->def.p_pop_wait != NULL) {
        unit = user->def.p_pop_wait(amg_upool_handle(pool), secs);
        ult = unit == ABT_UNIT_NULL ? NULL : amg_unit_ult(unit);
    } else {
        return pop_until(pool, deadline_after(secs));
    }
    if (ult != NULL)
        amg_upool_count_popped(pool);
    return ult;
}

int ABT_pool_pop_wait_thread_ex(ABT_pool pool, ABT_thread *thread,
    double time_secs, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == NULL)
        return ABT_ERR_INV_ARG;
    *thread =
        amg_ult_handle(pop_wait(amg_upool_of(pool), time_secs, pool_context));
    return ABT_SUCCESS;
}

int ABT_pool_pop_wait_thread(
    ABT_pool pool, ABT_thread *thread, double time_secs)
{
    return ABT_pool_pop_wait_thread_ex(
        pool, thread, time_secs, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

static ABT_unit unit_or_null(struct amg_ult *ult)
{
    return ult == NULL ? ABT_UNIT_NULL : amg_unit_of(ult);
}

int ABT_pool_pop_wait(ABT_pool pool, ABT_unit *unit, double time_secs)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (unit == NULL)
        return ABT_ERR_INV_ARG;
    *unit = unit_or_null(pop_wait(
        amg_upool_of(pool), time_secs, ABT_POOL_CONTEXT_OP_POOL_OTHER));
    return ABT_SUCCESS;
}

int ABT_pool_pop_timedwait(ABT_pool pool, ABT_unit *unit, double abstime_secs)
{
    return ABT_pool_pop_wait(pool, unit, abstime_secs - ABT_get_wtime());
}

int ABT_pool_pop_threads_ex(ABT_pool pool, ABT_thread *threads, size_t len,
    size_t *num, ABT_pool_context pool_context)
{
    struct amg_upool *known = amg_upool_of(pool);
    size_t count = 0;

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    if ((threads == NULL && len > 0) || num == NULL)
        return ABT_ERR_INV_ARG;
    if (known->user != NULL && !known->user->is_old &&
        known->user->pop_many != NULL) {
        known->user->pop_many(pool, threads, len, &count, pool_context);
        for (size_t i = 0; i < count; i++)
            amg_upool_count_popped(known);
        *num = count;
        return ABT_SUCCESS;
    }
    while (count < len) {
        struct amg_ult *ult = amg_upool_pop_for(known, pool_context);

        if (ult == NULL)
            break;
        threads[count++] = amg_ult_handle(ult);
    }
    *num = count;
    return ABT_SUCCESS;
}

int ABT_pool_pop_threads(
    ABT_pool pool, ABT_thread *threads, size_t len, size_t *num)
{
    return ABT_pool_pop_threads_ex(
        pool, threads, len, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop_thread_ex(
    ABT_pool pool, ABT_thread *thread, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == NULL)
        return ABT_ERR_INV_ARG;
    *thread =
        amg_ult_handle(amg_upool_pop_for(amg_upool_of(pool), pool_context));
    return ABT_SUCCESS;
}

int ABT_pool_pop_thread(ABT_pool pool, ABT_thread *thread)
{
    return ABT_pool_pop_thread_ex(pool, thread, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_pop(ABT_pool pool, ABT_unit *unit)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (unit == NULL)
        return ABT_ERR_INV_ARG;
    *unit = unit_or_null(amg_upool_pop(amg_upool_of(pool)));
    return ABT_SUCCESS;
}

int ABT_pool_remove(ABT_pool pool, ABT_unit unit)
{
    struct amg_ult *ult = unit == ABT_UNIT_NULL ? NULL : amg_unit_ult(unit);

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    return amg_upool_remove(amg_upool_of(pool), ult) ? ABT_SUCCESS
                                                     : ABT_ERR_POOL;
}

static int push_for(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    int rc = ABT_SUCCESS;

    /* What was popped is ready, and on no list. */
    if (amg_ult_state(ult) != AMG_ULT_READY || !amg_ult_is_in(ult, NULL))
        return ABT_ERR_UNIT;
    rc = amg_upool_adopt(pool, ult);
    if (rc == ABT_SUCCESS)
        amg_upool_push_for(pool, ult, context);
    return rc;
}

int ABT_pool_push(ABT_pool pool, ABT_unit unit)
{
    struct amg_ult *ult = unit == ABT_UNIT_NULL ? NULL : amg_unit_ult(unit);

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    return push_for(amg_upool_of(pool), ult, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_thread_ex(
    ABT_pool pool, ABT_thread thread, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == ABT_THREAD_NULL)
        return ABT_ERR_INV_THREAD;
    return push_for(amg_upool_of(pool), amg_ult_of(thread), pool_context);
}

int ABT_pool_push_thread(ABT_pool pool, ABT_thread thread)
{
    return ABT_pool_push_thread_ex(
        pool, thread, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

int ABT_pool_push_threads_ex(ABT_pool pool, const ABT_thread *threads,
    size_t num, ABT_pool_context pool_context)
{
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (threads == NULL && num > 0)
        return ABT_ERR_INV_ARG;
    for (size_t i = 0; i < num; i++) {
        int rc = ABT_SUCCESS;

        if (threads[i] != ABT_THREAD_NULL)
            rc = ABT_pool_push_thread_ex(pool, threads[i], pool_context);
        if (rc != ABT_SUCCESS)
            return rc;
    }
    return ABT_SUCCESS;
}

int ABT_pool_push_threads(ABT_pool pool, const ABT_thread *threads, size_t num)
{
    return ABT_pool_push_threads_ex(
        pool, threads, num, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

/* What a thread runs that stands for a scheduler. */
static void sched_thread(void *arg)
{
    struct amg_sched *sched = arg;

    amg_sched_run_as_thread(sched);
    if (sched->is_automatic)
        amg_sched_destroy(sched, NULL);
    else
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
}

int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched)
{
    struct amg_sched *known = (struct amg_sched *)(void *)sched;
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
