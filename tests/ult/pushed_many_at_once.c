/* SPDX-License-Identifier: BSD-3-Clause */
/* ABT_pool_push_threads() gives a pool of the program all units at once, by the
 * pool's function for several, and the threads run. */
#include "ult.h"

enum { THREADS = 100, QUEUE = 256 };

static ABT_thread queue[QUEUE];
static size_t first, last;
static size_t most;
static int ran;

static ABT_unit unit_create(ABT_pool pool, ABT_thread thread)
{
    (void)pool;
    return (ABT_unit)(void *)thread;
}

static void unit_free(ABT_pool pool, ABT_unit unit)
{
    (void)pool;
    (void)unit;
}

static ABT_bool is_empty(ABT_pool pool)
{
    (void)pool;
    return first == last ? ABT_TRUE : ABT_FALSE;
}

static ABT_thread pop(ABT_pool pool, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    return first == last ? ABT_THREAD_NULL : queue[first++ % QUEUE];
}

static void push(ABT_pool pool, ABT_unit unit, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    CHECK(last - first < QUEUE);
    queue[last++ % QUEUE] = (ABT_thread)(void *)unit;
}

static void push_many(ABT_pool pool, const ABT_unit *units, size_t count,
    ABT_pool_context context)
{
    most = count > most ? count : most;
    for (size_t i = 0; i < count; i++)
        push(pool, units[i], context);
}

static void run(void *arg)
{
    (void)arg;
    ran++;
}

int main(void)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_thread threads[THREADS];
    size_t count = 0;

    ult_begin(1);
    OK(ABT_pool_user_def_create(
        unit_create, unit_free, is_empty, pop, push, &def));
    OK(ABT_pool_user_def_set_push_many(def, push_many));
    OK(ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool));
    OK(ABT_pool_user_def_free(&def));
    for (int i = 0; i < THREADS; i++)
        OK(ABT_thread_create(
            pool, run, NULL, ABT_THREAD_ATTR_NULL, &threads[i]));
    OK(ABT_pool_pop_threads(pool, threads, THREADS, &count));
    CHECK(count == THREADS && first == last);
    OK(ABT_pool_push_threads(pool, threads, THREADS));
    CHECK(last - first == THREADS && most > 1);
    OK(ABT_xstream_self(&self));
    OK(ABT_xstream_set_main_sched_basic(self, ABT_SCHED_DEFAULT, 1, &pool));
    for (int i = 0; i < THREADS; i++)
        OK(ABT_thread_free(&threads[i]));
    CHECK(ran == THREADS);
    /* The main scheduler of the primary stream takes the pool with it. */
    return ABT_finalize();
}
