/* SPDX-License-Identifier: BSD-3-Clause */
/* The pools that a program gives to a scheduler or a stream stay the program's
 * when the creation fails, automatic pools too; and the variable for the handle
 * of some objects then stays as it was, as in Argobots. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "ult.h"

static bool thread_fails;

/* Replaces the system's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*function)(void *), void *arg)
{
    int (*real)(
        pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;

    if (thread_fails)
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, function, arg);
}

static int init_fails(ABT_sched sched, ABT_sched_config config)
{
    (void)sched;
    (void)config;
    return ABT_ERR_MEM;
}

static void run(ABT_sched sched)
{
    (void)sched;
}

static ABT_pool pool_make(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    OK(ABT_pool_create_basic(
        ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool));
    return pool;
}

/* The pool is alive, and in no use. */
static void pool_check(ABT_pool *pool)
{
    size_t size = 1;

    OK(ABT_pool_get_size(*pool, &size));
    CHECK(size == 0);
    OK(ABT_pool_free(pool));
}

static void scheduler_fails(void)
{
    ABT_sched_def def = {
        .type = ABT_SCHED_TYPE_ULT, .init = init_fails, .run = run};
    ABT_pool pools[2] = {pool_make(), ABT_POOL_NULL};
    ABT_sched sched = ABT_SCHED_NULL;

    GIVES(ABT_ERR_MEM,
        ABT_sched_create(&def, 2, pools, ABT_SCHED_CONFIG_NULL, &sched));
    CHECK(sched == ABT_SCHED_NULL);
    pool_check(&pools[0]);
}

static void stream_fails(void)
{
    ABT_pool pools[2] = {ABT_POOL_NULL, pool_make()};
    ABT_xstream stream = ABT_XSTREAM_NULL;

    thread_fails = true;
    GIVES(ABT_ERR_SYS, ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 2, pools,
                           ABT_SCHED_CONFIG_NULL, &stream));
    thread_fails = false;
    CHECK(stream == ABT_XSTREAM_NULL);
    pool_check(&pools[1]);
}

static void scheduler_is_refused(void)
{
    ABT_pool pool = pool_make();
    ABT_xstream stream = ABT_XSTREAM_NULL;

    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    GIVES(ABT_ERR_XSTREAM_STATE,
        ABT_xstream_set_main_sched_basic(stream, ABT_SCHED_DEFAULT, 1, &pool));
    pool_check(&pool);
    OK(ABT_xstream_free(&stream));
}

static void variable_is_kept(void)
{
    ABT_thread thread = (ABT_thread)(void *)&thread_fails;

    GIVES(ABT_ERR_INV_POOL, ABT_thread_create_to(ABT_POOL_NULL, NULL, NULL,
                                ABT_THREAD_ATTR_NULL, &thread));
    CHECK(thread == (ABT_thread)(void *)&thread_fails);
}

int main(void)
{
    ult_begin(1);
    scheduler_fails();
    stream_fails();
    scheduler_is_refused();
    variable_is_kept();
    ult_end();
    return 0;
}
