/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that starts to run and changes its pool while another thread
 * migrates it ends in one pool, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "unit/ult/begun.h"

static ABT_pool home;
static ABT_pool away; /* no stream runs it */
static atomic_int gate;
static atomic_bool is_running;

static void wait_for(int step)
{
    while (atomic_load(&gate) < step)
        sched_yield();
}

/* Occupies the stream of `home` until the migration has begun. */
static void keeper(void *arg)
{
    (void)arg;
    wait_for(1);
}

static void mover(void *arg)
{
    (void)arg;
    atomic_store(&is_running, true);
    wait_for(2);
    ABT_thread_yield();
}

static size_t size_of(ABT_pool pool)
{
    size_t size = 0;

    ABT_pool_get_size(pool, &size);
    return size;
}

/* Runs in the migrating thread: it found the mover ready in `home`, which then
 * leaves as it was asked, before that pool is searched. */
static void hook(const char *name)
{
    if (strcmp(name, "migrate.ask") == 0) {
        atomic_store(&gate, 1);
        while (!atomic_load(&is_running))
            sched_yield();
    } else if (strcmp(name, "ready_pool.remove") == 0) {
        atomic_store(&gate, 2);
        while (size_of(away) == 0)
            sched_yield();
    }
}

static void test_migrate_of_thread_that_moves_takes_it_out_of_no_pool(
    void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread threads[2] = {ABT_THREAD_NULL, ABT_THREAD_NULL};

    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    assert_int_equal(ABT_pool_create_basic(
                         ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &away),
        ABT_SUCCESS);
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(stream, 1, &home), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create(
                         home, keeper, NULL, ABT_THREAD_ATTR_NULL, &threads[0]),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_create(home, mover, NULL, ABT_THREAD_ATTR_NULL, &threads[1]),
        ABT_SUCCESS);
    amg_test_point_set(hook);
    assert_int_equal(ABT_thread_migrate_to_pool(threads[1], away), ABT_SUCCESS);
    amg_test_point_set(NULL);
    assert_int_equal(size_of(home), 0);
    assert_int_equal(size_of(away), 1);
    assert_int_equal(ABT_thread_migrate_to_pool(threads[1], home), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&threads[0]), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&threads[1]), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_pool_free(&away), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_migrate_of_thread_that_moves_takes_it_out_of_no_pool),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
