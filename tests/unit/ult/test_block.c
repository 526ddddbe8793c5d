/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that dozes is rung for whatever its stream is to do, however close
 * the push comes to its falling asleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "abt.h"
#include "base/lock.h"
#include "ult/sched.h"
#include "unit/ult/begun.h"

enum { PUSHERS = 3, PUSHES = 3000 };

/* A thing that is slept on, and whose sleep ends when it is rung, also before
 * it begins: as a progress loop. */
struct bed {
    atomic_uint rung;
    unsigned long sleeps;
};

static void bed_ring(void *arg)
{
    struct bed *bed = arg;

    atomic_store(&bed->rung, 1);
    amg_futex_wake(&bed->rung, 1);
}

static void bed_sleep(struct bed *bed)
{
    while (atomic_load(&bed->rung) == 0)
        amg_futex_wait(&bed->rung, 0);
    atomic_store(&bed->rung, 0);
    bed->sleeps++;
}

/* As the loop of Margo does. */
static void doze_once(struct bed *bed)
{
    struct amg_block block = {.wake = bed_ring, .arg = bed};

    if (amg_block_ready_count() == 0 && amg_block_begin(&block)) {
        bed_sleep(bed);
        amg_block_end(&block);
        atomic_store(&bed->rung, 0);
    }
    ABT_thread_yield();
}

static ABT_pool main_pool(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(self, 1, &pool), ABT_SUCCESS);
    return pool;
}

static atomic_uint ran;

static void count_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static void test_block_does_not_begin_when_something_is_ready(void **state)
{
    struct bed bed = {0};
    struct amg_block block = {.wake = bed_ring, .arg = &bed};
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    assert_int_equal(amg_block_ready_count(), 0);
    assert_int_equal(ABT_thread_create(main_pool(), count_one, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(amg_block_ready_count(), 1);
    assert_false(amg_block_begin(&block));
    assert_int_equal(atomic_load(&bed.rung), 0);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
}

static void test_block_is_rung_once_by_the_first_push(void **state)
{
    struct bed bed = {0};
    struct amg_block block = {.wake = bed_ring, .arg = &bed};
    ABT_thread threads[2];

    (void)state;
    assert_true(amg_block_begin(&block));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ABT_thread_create(main_pool(), count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
        assert_int_equal(atomic_exchange(&bed.rung, 0), i == 0 ? 1 : 0);
    }
    amg_block_end(&block);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
}

static void *pusher_main(void *arg)
{
    for (int i = 0; i < PUSHES; i++)
        if (ABT_thread_create(arg, count_one, NULL, ABT_THREAD_ATTR_NULL,
                NULL) != ABT_SUCCESS)
            return arg;
    return NULL;
}

/* Hangs if a push is lost. */
static void test_block_loses_no_push_of_other_threads(void **state)
{
    struct bed bed = {0};
    pthread_t pushers[PUSHERS];
    ABT_pool pool = main_pool();

    (void)state;
    atomic_store(&ran, 0);
    for (int i = 0; i < PUSHERS; i++)
        assert_int_equal(
            pthread_create(&pushers[i], NULL, pusher_main, pool), 0);
    while (atomic_load(&ran) < PUSHERS * PUSHES)
        doze_once(&bed);
    for (int i = 0; i < PUSHERS; i++) {
        void *result = NULL;

        pthread_join(pushers[i], &result);
        assert_null(result);
    }
}

struct dozer {
    struct bed bed;
    atomic_bool is_over;
};

static void dozer_main(void *arg)
{
    struct dozer *dozer = arg;

    while (!atomic_load(&dozer->is_over))
        doze_once(&dozer->bed);
}

static void dozer_end(void *arg)
{
    struct dozer *dozer = arg;

    atomic_store(&dozer->is_over, true);
}

/* Two streams run one pool, and a loop dozes on each: whoever is rung, what was
 * pushed is run. Hangs if it is not. */
static void test_block_on_two_streams_of_one_pool_runs_all(void **state)
{
    struct dozer dozers[2] = {0};
    ABT_thread loops[2];
    ABT_xstream streams[2];
    ABT_pool shared = ABT_POOL_NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT,
                         ABT_POOL_ACCESS_MPMC, ABT_FALSE, &shared),
        ABT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ABT_pool pools[2] = {ABT_POOL_NULL, shared};

        assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 2, pools,
                             ABT_SCHED_CONFIG_NULL, &streams[i]),
            ABT_SUCCESS);
        assert_int_equal(
            ABT_xstream_get_main_pools(streams[i], 1, pools), ABT_SUCCESS);
        assert_int_equal(ABT_thread_create(pools[0], dozer_main, &dozers[i],
                             ABT_THREAD_ATTR_NULL, &loops[i]),
            ABT_SUCCESS);
    }
    for (int i = 0; i < PUSHES; i++) {
        ABT_thread thread = ABT_THREAD_NULL;

        assert_int_equal(ABT_thread_create(shared, count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &thread),
            ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    }
    assert_int_equal(atomic_load(&ran), PUSHES);
    for (int i = 0; i < 2; i++) {
        ABT_pool own = ABT_POOL_NULL;

        assert_int_equal(
            ABT_xstream_get_main_pools(streams[i], 1, &own), ABT_SUCCESS);
        assert_int_equal(ABT_thread_create(own, dozer_end, &dozers[i],
                             ABT_THREAD_ATTR_NULL, NULL),
            ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&loops[i]), ABT_SUCCESS);
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
    }
    assert_int_equal(ABT_pool_free(&shared), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_does_not_begin_when_something_is_ready),
        cmocka_unit_test(test_block_is_rung_once_by_the_first_push),
        cmocka_unit_test(test_block_loses_no_push_of_other_threads),
        cmocka_unit_test(test_block_on_two_streams_of_one_pool_runs_all),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
