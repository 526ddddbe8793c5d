/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams run the threads of their pools, sleep without work, end on request,
 * and can be revived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "abt.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/sched.h"
#include "unit/ult/begun.h"

enum { FEW = 4, MANY = 200, NO_RANK = 17 };

static atomic_int ran;

static void count_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static ABT_xstream stream_create(ABT_pool *ret_pool)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(
        ABT_xstream_get_main_pools(stream, 1, ret_pool), ABT_SUCCESS);
    return stream;
}

static void thread_leave(ABT_pool pool, void (*function)(void *), void *arg)
{
    assert_int_equal(
        ABT_thread_create(pool, function, arg, ABT_THREAD_ATTR_NULL, NULL),
        ABT_SUCCESS);
}

static ABT_xstream_state state_of(ABT_xstream stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    assert_int_equal(ABT_xstream_get_state(stream, &state), ABT_SUCCESS);
    return state;
}

static void test_stream_runs_all_before_it_is_joined_and_again_when_revived(
    void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);

    (void)state;
    atomic_store(&ran, 0);
    for (int round = 1; round <= FEW; round++) {
        for (int i = 0; i < MANY; i++)
            thread_leave(pool, count_one, NULL);
        assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
        assert_int_equal(atomic_load(&ran), round * MANY);
        assert_int_equal(state_of(stream), ABT_XSTREAM_STATE_TERMINATED);
        assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
        assert_int_equal(ABT_xstream_revive(stream), ABT_SUCCESS);
        assert_int_equal(ABT_xstream_revive(stream), ABT_ERR_XSTREAM_STATE);
        assert_int_equal(state_of(stream), ABT_XSTREAM_STATE_RUNNING);
    }
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_ptr_equal(stream, ABT_XSTREAM_NULL);
}

static void test_stream_without_work_sleeps_until_it_has_some(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    atomic_uint *word = &amg_xstream_of(stream)->sleeper.word;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        ABT_thread thread = ABT_THREAD_NULL;

        if (i % 2 == 0)
            while (atomic_load(word) != AMG_SLEEPER_ASLEEP)
                sched_yield();
        assert_int_equal(ABT_thread_create(pool, count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &thread),
            ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    }
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_streams_of_one_pool_all_get_to_run(void **state)
{
    ABT_xstream streams[FEW];
    ABT_pool pool = ABT_POOL_NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT,
                         ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool),
        ABT_SUCCESS);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool,
                             ABT_SCHED_CONFIG_NULL, &streams[i]),
            ABT_SUCCESS);
    for (int i = 0; i < MANY; i++)
        thread_leave(pool, count_one, NULL);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
    assert_int_equal(atomic_load(&ran), MANY);
}

static void wait_for_all(void *arg)
{
    ABT_barrier barrier = *(ABT_barrier *)arg;

    ABT_barrier_wait(barrier);
    atomic_fetch_add(&ran, 1);
}

/* The threads continue only when as many streams as there are have been woken
 * to run one each: no thread yields. */
static void wait_on_own_stream(void *arg)
{
    atomic_int *here = arg;

    atomic_fetch_add(here, 1);
    while (atomic_load(here) < FEW)
        sched_yield();
}

static void test_stream_each_push_wakes_one_sleeper(void **state)
{
    ABT_xstream streams[FEW];
    ABT_thread threads[FEW];
    ABT_pool pool = ABT_POOL_NULL;
    atomic_int here = 0;

    (void)state;
    assert_int_equal(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT,
                         ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool),
        ABT_SUCCESS);
    for (int i = 0; i < FEW; i++) {
        assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool,
                             ABT_SCHED_CONFIG_NULL, &streams[i]),
            ABT_SUCCESS);
        while (atomic_load(&amg_xstream_of(streams[i])->sleeper.word) !=
               AMG_SLEEPER_ASLEEP)
            sched_yield();
    }
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_create(pool, wait_on_own_stream, &here,
                             ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
}

static void test_stream_is_joined_when_its_blocked_threads_have_ended(
    void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool here = ABT_POOL_NULL;
    ABT_barrier barrier = ABT_BARRIER_NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(ABT_barrier_create(2, &barrier), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(self, 1, &here), ABT_SUCCESS);
    thread_leave(pool, wait_for_all, &barrier);
    thread_leave(here, wait_for_all, &barrier);
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    while (atomic_load(&ran) < 2)
        ABT_thread_yield();
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_barrier_free(&barrier), ABT_SUCCESS);
}

static void exit_now(void *arg)
{
    (void)arg;
    ABT_xstream_exit();
    atomic_store(&ran, -1);
}

/* A tasklet, which cannot end its stream. */
static void exit_refused(void *arg)
{
    atomic_store(&ran, ABT_xstream_exit() == ABT_ERR_INV_THREAD &&
                           !amg_xstream_is_asked(amg_xstream_of(arg)));
}

static void yield_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        ABT_thread_yield();
}

static void test_stream_exit_and_cancel_end_it_with_threads_left(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(ABT_xstream_exit(), ABT_ERR_INV_XSTREAM);
    thread_leave(pool, exit_now, NULL);
    while (state_of(stream) != ABT_XSTREAM_STATE_TERMINATED)
        sched_yield();
    assert_int_equal(atomic_load(&ran), 0);
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_revive(stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create(pool, yield_for_ever, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_xstream_cancel(stream), ABT_SUCCESS);
    while (state_of(stream) != ABT_XSTREAM_STATE_TERMINATED)
        sched_yield();
    assert_int_equal(ABT_thread_cancel(thread), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_revive(stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_stream_goes_on_if_its_exit_is_refused(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    ABT_task task = ABT_TASK_NULL;

    (void)state;
    atomic_store(&ran, 0);
    assert_int_equal(
        ABT_task_create(pool, exit_refused, stream, &task), ABT_SUCCESS);
    assert_int_equal(ABT_task_free(&task), ABT_SUCCESS);
    assert_int_equal(atomic_load(&ran), 1);
    thread_leave(pool, count_one, NULL);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(atomic_load(&ran), 2);
}

/* A joiner that comes while a revival fails. */
static ABT_xstream failing;
static atomic_bool has_failed;

static void *join_failing(void *arg)
{
    while (!atomic_load(&has_failed))
        sched_yield();
    return ABT_xstream_join(failing) == ABT_SUCCESS ? arg : NULL;
}

static bool failing_has_joiner(void)
{
    struct amg_xstream *xstream = amg_xstream_of(failing);
    bool has_joiner = false;

    amg_lock_lock(&xstream->lock);
    has_joiner = !amg_list_is_empty(&xstream->joiners);
    amg_lock_unlock(&xstream->lock);
    return has_joiner;
}

/* As log function: the stream's OS thread logs that there is no memory. */
static int failure_hold(FILE *file, const char *format, ...)
{
    (void)file;
    (void)format;
    atomic_store(&has_failed, true);
    while (!failing_has_joiner())
        sched_yield();
    return 0;
}

static void test_stream_that_cannot_be_revived_wakes_its_joiner(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    pthread_t joiner;
    void *result = NULL;

    (void)state;
    failing = stream_create(&pool);
    assert_int_equal(ABT_xstream_join(failing), ABT_SUCCESS);
    assert_int_equal(pthread_create(&joiner, NULL, join_failing, &failing), 0);
    hg_log_set_func(failure_hold);
    amg_mem_fail_nth(1);
    assert_int_equal(ABT_xstream_revive(failing), ABT_ERR_MEM);
    amg_mem_fail_nth(0);
    hg_log_set_func(NULL);
    assert_false(failing_has_joiner());
    assert_int_equal(pthread_join(joiner, &result), 0);
    assert_ptr_equal(result, &failing);
    assert_int_equal(state_of(failing), ABT_XSTREAM_STATE_TERMINATED);
    assert_int_equal(ABT_xstream_revive(failing), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&failing), ABT_SUCCESS);
}

static void test_stream_ranks_are_the_lowest_free_or_as_asked(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream one = stream_create(&pool);
    ABT_xstream two = stream_create(&pool);
    ABT_xstream other = ABT_XSTREAM_NULL;
    int rank = -1;
    int count = 0;

    (void)state;
    assert_int_equal(ABT_xstream_self_rank(&rank), ABT_SUCCESS);
    assert_int_equal(rank, 0);
    assert_int_equal(ABT_xstream_get_rank(two, &rank), ABT_SUCCESS);
    assert_int_equal(rank, 2);
    assert_int_equal(ABT_xstream_create_with_rank(ABT_SCHED_NULL, 2, &other),
        ABT_ERR_INV_XSTREAM_RANK);
    assert_int_equal(
        ABT_xstream_create_with_rank(ABT_SCHED_NULL, NO_RANK, &other),
        ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_num(&count), ABT_SUCCESS);
    assert_int_equal(count, 4);
    assert_int_equal(
        ABT_xstream_set_rank(one, NO_RANK), ABT_ERR_INV_XSTREAM_RANK);
    assert_int_equal(ABT_xstream_set_rank(other, 3), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_set_rank(one, NO_RANK), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&one), ABT_SUCCESS);
    one = stream_create(&pool);
    assert_int_equal(ABT_xstream_get_rank(one, &rank), ABT_SUCCESS);
    assert_int_equal(rank, 1);
    assert_int_equal(ABT_xstream_free(&one), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&two), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&other), ABT_SUCCESS);
}

static void test_stream_is_bound_to_a_core_of_the_process(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    int cpus[2] = {-1, -1};
    int count = 0;
    int cpu = -1;

    (void)state;
    assert_int_equal(
        ABT_xstream_get_affinity(stream, 2, cpus, &count), ABT_SUCCESS);
    assert_true(count >= 1);
    assert_int_equal(ABT_xstream_set_cpubind(stream, cpus[0]), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_cpubind(stream, &cpu), ABT_SUCCESS);
    assert_int_equal(cpu, cpus[0]);
    assert_int_equal(
        ABT_xstream_get_affinity(stream, 0, NULL, &count), ABT_SUCCESS);
    assert_int_equal(count, 1);
    /* No test machine has that core. */
    assert_int_equal(ABT_xstream_set_cpubind(stream, -1), ABT_ERR_CPUID);
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_revive(stream), ABT_SUCCESS);
    assert_int_equal(
        ABT_xstream_get_affinity(stream, 0, NULL, &count), ABT_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_stream_primary_goes_on_with_another_scheduler(void **state)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_pool pools[2] = {ABT_POOL_NULL, ABT_POOL_NULL};
    ABT_pool mine = ABT_POOL_NULL;

    (void)state;
    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_sched_create_basic(ABT_SCHED_PRIO, 2, NULL,
                         ABT_SCHED_CONFIG_NULL, &sched),
        ABT_SUCCESS);
    assert_int_equal(ABT_xstream_set_main_sched(self, sched), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(self, 2, pools), ABT_SUCCESS);
    assert_int_equal(ABT_self_get_last_pool(&mine), ABT_SUCCESS);
    assert_ptr_equal(mine, pools[0]);
    atomic_store(&ran, 0);
    thread_leave(pools[1], count_one, NULL);
    assert_int_equal(
        ABT_xstream_set_main_sched_basic(self, ABT_SCHED_DEFAULT, 1, &pools[1]),
        ABT_SUCCESS);
    while (atomic_load(&ran) == 0)
        ABT_thread_yield();
}

static void test_stream_bad_calls_change_nothing(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = stream_create(&pool);
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_xstream none = ABT_XSTREAM_NULL;

    (void)state;
    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_join(self), ABT_ERR_INV_XSTREAM);
    assert_int_equal(ABT_xstream_free(&self), ABT_ERR_INV_XSTREAM);
    assert_int_equal(ABT_xstream_free(&none), ABT_ERR_INV_XSTREAM);
    assert_int_equal(ABT_xstream_cancel(self), ABT_ERR_INV_XSTREAM);
    assert_int_equal(ABT_xstream_set_main_sched(stream, ABT_SCHED_NULL),
        ABT_ERR_XSTREAM_STATE);
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_info_print_all_xstreams(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_info_print_all_xstreams(stderr), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_stream_runs_all_before_it_is_joined_and_again_when_revived),
        cmocka_unit_test(test_stream_without_work_sleeps_until_it_has_some),
        cmocka_unit_test(test_streams_of_one_pool_all_get_to_run),
        cmocka_unit_test(test_stream_each_push_wakes_one_sleeper),
        cmocka_unit_test(
            test_stream_is_joined_when_its_blocked_threads_have_ended),
        cmocka_unit_test(test_stream_exit_and_cancel_end_it_with_threads_left),
        cmocka_unit_test(test_stream_goes_on_if_its_exit_is_refused),
        cmocka_unit_test(test_stream_that_cannot_be_revived_wakes_its_joiner),
        cmocka_unit_test(test_stream_ranks_are_the_lowest_free_or_as_asked),
        cmocka_unit_test(test_stream_is_bound_to_a_core_of_the_process),
        cmocka_unit_test(test_stream_primary_goes_on_with_another_scheduler),
        cmocka_unit_test(test_stream_bad_calls_change_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
