/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that blocks its stream is woken by any push to the stream, however
 * close the push is to the begin of the block. */
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

/* Blocks like a progress loop: a wake-up before the block begins counts, too.
 */
struct blocker {
    atomic_uint is_woken;
    unsigned long sleeps;
};

static void blocker_wake(void *arg)
{
    struct blocker *blocker = arg;

    atomic_store(&blocker->is_woken, 1);
    amg_futex_wake(&blocker->is_woken, 1);
}

static void blocker_wait(struct blocker *blocker)
{
    while (atomic_load(&blocker->is_woken) == 0)
        amg_futex_wait(&blocker->is_woken, 0);
    atomic_store(&blocker->is_woken, 0);
    blocker->sleeps++;
}

/* Like the loop of Margo. */
static void block_once(struct blocker *blocker)
{
    struct amg_block block = {.wake = blocker_wake, .arg = blocker};

    if (!amg_block_has_ready() && amg_block_begin(&block)) {
        blocker_wait(blocker);
        amg_block_end(&block);
        atomic_store(&blocker->is_woken, 0);
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
    struct blocker blocker = {0};
    struct amg_block block = {.wake = blocker_wake, .arg = &blocker};
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    assert_false(amg_block_has_ready());
    assert_int_equal(ABT_thread_create(main_pool(), count_one, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_true(amg_block_has_ready());
    assert_false(amg_block_begin(&block));
    assert_int_equal(atomic_load(&blocker.is_woken), 0);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
}

static void test_block_is_signaled_once_by_the_first_push(void **state)
{
    struct blocker blocker = {0};
    struct amg_block block = {.wake = blocker_wake, .arg = &blocker};
    ABT_thread threads[2];

    (void)state;
    assert_true(amg_block_begin(&block));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ABT_thread_create(main_pool(), count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
        assert_int_equal(atomic_exchange(&blocker.is_woken, 0), i == 0 ? 1 : 0);
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

/* Hangs if a wake-up is lost. */
static void test_block_loses_no_push_of_other_threads(void **state)
{
    struct blocker blocker = {0};
    pthread_t pushers[PUSHERS];
    ABT_pool pool = main_pool();

    (void)state;
    atomic_store(&ran, 0);
    for (int i = 0; i < PUSHERS; i++)
        assert_int_equal(
            pthread_create(&pushers[i], NULL, pusher_main, pool), 0);
    while (atomic_load(&ran) < PUSHERS * PUSHES)
        block_once(&blocker);
    for (int i = 0; i < PUSHERS; i++) {
        void *result = NULL;

        pthread_join(pushers[i], &result);
        assert_null(result);
    }
}

struct blockr {
    struct blocker blocker;
    atomic_bool is_over;
};

static void blockr_main(void *arg)
{
    struct blockr *blockr = arg;

    while (!atomic_load(&blockr->is_over))
        block_once(&blockr->blocker);
}

static void blockr_end(void *arg)
{
    struct blockr *blockr = arg;

    atomic_store(&blockr->is_over, true);
}

/* Two streams run one pool, and a loop blocks on each: pushed threads run,
 * whichever stream is woken. Hangs otherwise. */
static void test_block_on_two_streams_of_one_pool_runs_all(void **state)
{
    struct blockr blockrs[2] = {0};
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
        assert_int_equal(ABT_thread_create(pools[0], blockr_main, &blockrs[i],
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
        assert_int_equal(ABT_thread_create(own, blockr_end, &blockrs[i],
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
        cmocka_unit_test(test_block_is_signaled_once_by_the_first_push),
        cmocka_unit_test(test_block_loses_no_push_of_other_threads),
        cmocka_unit_test(test_block_on_two_streams_of_one_pool_runs_all),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
