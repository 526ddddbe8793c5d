/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of pool returns its threads in its order, and a push wakes exactly
 * one waiter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>

#include "abt.h"
#include "ult/ready_pool.h"
#include "unit/ult/begun.h"

enum { FEW = 4, MANY = 64 };

static int ran;

static void count_one(void *arg)
{
    (void)arg;
    ran++;
}

/* Creates threads in a pool that no stream runs. */
static void few_create(ABT_pool pool, ABT_thread *ret_threads)
{
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_create(pool, count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &ret_threads[i]),
            ABT_SUCCESS);
}

static ABT_pool main_pool(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(self, 1, &pool), ABT_SUCCESS);
    return pool;
}

/* Runs them to their end on this stream. */
static void few_free(ABT_thread *threads, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(
            ABT_pool_push_thread(main_pool(), threads[i]), ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    }
}

static ABT_pool pool_of(ABT_pool_kind kind)
{
    ABT_pool pool = ABT_POOL_NULL;

    assert_int_equal(
        ABT_pool_create_basic(kind, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool),
        ABT_SUCCESS);
    return pool;
}

static ABT_thread pop(ABT_pool pool)
{
    ABT_thread thread = ABT_THREAD_NULL;

    assert_int_equal(ABT_pool_pop_thread(pool, &thread), ABT_SUCCESS);
    return thread;
}

static void test_ready_pool_fresh_threads_leave_in_order(void **state)
{
    static const ABT_pool_kind kinds[] = {ABT_POOL_FIFO, ABT_POOL_FIFO_WAIT,
        ABT_POOL_RANDWS, AMALGAM_POOL_PRIO_WAIT};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        ABT_pool pool = pool_of(kinds[k]);
        ABT_thread threads[FEW];
        size_t size = 0;

        few_create(pool, threads);
        assert_int_equal(ABT_pool_get_size(pool, &size), ABT_SUCCESS);
        assert_int_equal(size, FEW);
        assert_int_equal(ABT_pool_free(&pool), ABT_ERR_POOL);
        for (int i = 0; i < FEW; i++)
            assert_ptr_equal(pop(pool), threads[i]);
        assert_ptr_equal(pop(pool), ABT_THREAD_NULL);
        few_free(threads, FEW);
        assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
        assert_ptr_equal(pool, ABT_POOL_NULL);
    }
}

static void test_ready_pool_thieves_take_the_other_end(void **state)
{
    ABT_pool pool = pool_of(ABT_POOL_RANDWS);
    ABT_thread threads[FEW];

    (void)state;
    few_create(pool, threads);
    assert_ptr_equal(
        amg_ready_pool_steal(amg_ready_pool_of(pool)), threads[FEW - 1]);
    assert_ptr_equal(pop(pool), threads[0]);
    assert_ptr_equal(pop(pool), threads[1]);
    assert_ptr_equal(amg_ready_pool_steal(amg_ready_pool_of(pool)), threads[2]);
    few_free(threads, FEW);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void suspend_once(void *arg)
{
    (void)arg;
    ABT_self_suspend();
    ran++;
}

/* A thread that has run once, ready in `pool`. */
static ABT_thread veteran_create(ABT_pool pool)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state state = ABT_THREAD_STATE_READY;

    assert_int_equal(ABT_thread_create(main_pool(), suspend_once, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    while (state != ABT_THREAD_STATE_BLOCKED) {
        ABT_thread_yield();
        assert_int_equal(ABT_thread_get_state(thread, &state), ABT_SUCCESS);
    }
    assert_int_equal(ABT_thread_resume(thread), ABT_SUCCESS);
    assert_true(amg_ready_pool_remove(
        amg_ready_pool_of(main_pool()), amg_ult_of(thread)));
    assert_int_equal(ABT_pool_push_thread(pool, thread), ABT_SUCCESS);
    return thread;
}

static void test_ready_pool_prio_lets_veterans_go_first_but_not_for_ever(
    void **state)
{
    ABT_pool pool = pool_of(AMALGAM_POOL_PRIO_WAIT);
    ABT_thread threads[FEW];
    ABT_thread veteran = ABT_THREAD_NULL;
    int rounds = 0;

    (void)state;
    few_create(pool, threads);
    veteran = veteran_create(pool);
    assert_ptr_equal(pop(pool), veteran);
    /* The veteran only yields. */
    for (ABT_thread next = veteran; next == veteran; rounds++) {
        assert_int_equal(ABT_pool_push_thread(pool, veteran), ABT_SUCCESS);
        assert_true(rounds < MANY);
        next = pop(pool);
        if (next != veteran)
            assert_ptr_equal(next, threads[0]);
    }
    assert_ptr_equal(pop(pool), veteran);
    for (int i = 1; i < FEW; i++)
        assert_ptr_equal(pop(pool), threads[i]);
    few_free(threads, FEW);
    few_free(&veteran, 1);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_earliest_goes_by_creation_but_not_for_ever(
    void **state)
{
    ABT_pool pool = pool_of(AMALGAM_POOL_EARLIEST_FIRST);
    ABT_thread threads[FEW];
    ABT_unit_id id = 0;
    bool has_other = false;

    (void)state;
    few_create(pool, threads);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_get_id(threads[i], &id), ABT_SUCCESS);
    assert_ptr_equal(pop(pool), threads[0]);
    assert_ptr_equal(pop(pool), threads[1]);
    /* In reverse order; the earlier one is popped first all the same. */
    assert_int_equal(ABT_pool_push_thread(pool, threads[1]), ABT_SUCCESS);
    assert_int_equal(ABT_pool_push_thread(pool, threads[0]), ABT_SUCCESS);
    assert_ptr_equal(pop(pool), threads[0]);
    for (int i = 0; i < MANY && !has_other; i++) {
        ABT_thread next = ABT_THREAD_NULL;

        assert_int_equal(ABT_pool_push_thread(pool, threads[0]), ABT_SUCCESS);
        next = pop(pool);
        has_other = next != threads[0];
        if (has_other)
            assert_int_equal(ABT_pool_push_thread(pool, next), ABT_SUCCESS);
    }
    assert_true(has_other);
    while (pop(pool) != ABT_THREAD_NULL)
        continue;
    few_free(threads, FEW);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_units_name_their_threads(void **state)
{
    ABT_pool pool = pool_of(ABT_POOL_FIFO);
    ABT_pool other = pool_of(ABT_POOL_FIFO);
    ABT_thread threads[FEW];
    ABT_thread named = ABT_THREAD_NULL;
    ABT_unit unit = ABT_UNIT_NULL;

    (void)state;
    few_create(pool, threads);
    assert_int_equal(ABT_thread_get_unit(threads[2], &unit), ABT_SUCCESS);
    assert_int_equal(ABT_unit_get_thread(unit, &named), ABT_SUCCESS);
    assert_ptr_equal(named, threads[2]);
    assert_int_equal(ABT_pool_remove(other, unit), ABT_ERR_POOL);
    assert_int_equal(ABT_pool_push(other, unit), ABT_ERR_UNIT);
    assert_int_equal(ABT_pool_remove(pool, unit), ABT_SUCCESS);
    assert_int_equal(ABT_pool_remove(pool, unit), ABT_ERR_POOL);
    assert_int_equal(ABT_pool_push(other, unit), ABT_SUCCESS);
    assert_int_equal(ABT_pool_pop(other, &unit), ABT_SUCCESS);
    assert_int_equal(ABT_pool_pop(other, &unit), ABT_SUCCESS);
    assert_ptr_equal(unit, ABT_UNIT_NULL);
    while (pop(pool) != ABT_THREAD_NULL)
        continue;
    few_free(threads, FEW);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_free(&other), ABT_SUCCESS);
}

static void test_ready_pool_push_claims_one_sleeper(void **state)
{
    ABT_pool pool = pool_of(ABT_POOL_FIFO);
    struct amg_sleeper sleepers[2];
    struct amg_watch watches[2];
    ABT_thread threads[FEW];

    (void)state;
    for (int i = 0; i < 2; i++) {
        amg_sleeper_init(&sleepers[i]);
        watches[i].sleeper = &sleepers[i];
        amg_sleeper_arm(&sleepers[i], NULL);
        assert_true(amg_ready_pool_watch(amg_ready_pool_of(pool), &watches[i]));
    }
    assert_int_equal(ABT_thread_create(pool, count_one, NULL,
                         ABT_THREAD_ATTR_NULL, &threads[0]),
        ABT_SUCCESS);
    assert_int_equal(atomic_load(&sleepers[0].word), AMG_SLEEPER_AWAKE);
    assert_int_equal(atomic_load(&sleepers[1].word), AMG_SLEEPER_ASLEEP);
    amg_ready_pool_wake_one(amg_ready_pool_of(pool));
    assert_int_equal(atomic_load(&sleepers[1].word), AMG_SLEEPER_AWAKE);
    /* Claimed, so it does not block. */
    assert_true(amg_sleeper_sleep(&sleepers[1], 0));
    for (int i = 0; i < 2; i++) {
        amg_sleeper_disarm(&sleepers[i]);
        amg_ready_pool_unwatch(amg_ready_pool_of(pool), &watches[i]);
    }
    amg_sleeper_arm(&sleepers[0], NULL);
    assert_false(amg_ready_pool_watch(amg_ready_pool_of(pool), &watches[0]));
    amg_sleeper_disarm(&sleepers[0]);
    amg_ready_pool_unwatch(amg_ready_pool_of(pool), &watches[0]);
    assert_ptr_equal(pop(pool), threads[0]);
    few_free(threads, 1);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void *pusher_main(void *arg)
{
    ABT_thread thread = ABT_THREAD_NULL;
    int rc =
        ABT_thread_create(arg, count_one, NULL, ABT_THREAD_ATTR_NULL, &thread);

    return rc == ABT_SUCCESS ? thread : ABT_THREAD_NULL;
}

static void test_ready_pool_pop_wait_is_ended_by_a_push_or_the_moment(
    void **state)
{
    ABT_pool pool = pool_of(ABT_POOL_FIFO_WAIT);

    (void)state;
    for (int i = 0; i < MANY; i++) {
        ABT_thread popped = ABT_THREAD_NULL;
        void *pushed = NULL;
        pthread_t pusher;

        assert_int_equal(pthread_create(&pusher, NULL, pusher_main, pool), 0);
        assert_int_equal(
            ABT_pool_pop_wait_thread(pool, &popped, 1e10), ABT_SUCCESS);
        pthread_join(pusher, &pushed);
        assert_non_null(popped);
        assert_ptr_equal(popped, pushed);
        few_free(&popped, 1);
    }
    for (int i = 0; i < 2; i++) {
        ABT_unit unit = (ABT_unit)(void *)&pool;

        assert_int_equal(ABT_pool_pop_wait(pool, &unit, 1e-3 * i), ABT_SUCCESS);
        assert_ptr_equal(unit, ABT_UNIT_NULL);
    }
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_bad_arguments_change_nothing(void **state)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_pool_config config = ABT_POOL_CONFIG_NULL;
    ABT_pool_config_type type = ABT_POOL_CONFIG_INT;
    double half = 0.5;
    double real = 0;

    (void)state;
    assert_int_equal(ABT_pool_create_basic((ABT_pool_kind)99,
                         ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool),
        ABT_ERR_INV_POOL_KIND);
    assert_int_equal(ABT_pool_create_basic(
                         ABT_POOL_FIFO, (ABT_pool_access)99, ABT_FALSE, &pool),
        ABT_ERR_INV_POOL_ACCESS);
    assert_ptr_equal(pool, ABT_POOL_NULL);
    assert_int_equal(ABT_pool_free(&pool), ABT_ERR_INV_POOL);
    assert_int_equal(ABT_pool_config_create(&config), ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_config_get(config, 7, &type, &real), ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_pool_config_set(config, 7, (ABT_pool_config_type)9, &half),
        ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_pool_config_set(config, 7, ABT_POOL_CONFIG_DOUBLE, &half),
        ABT_SUCCESS);
    assert_int_equal(ABT_pool_config_get(config, 7, &type, &real), ABT_SUCCESS);
    assert_int_equal(type, ABT_POOL_CONFIG_DOUBLE);
    assert_true(real == half);
    assert_int_equal(ABT_pool_config_free(&config), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_pool_fresh_threads_leave_in_order),
        cmocka_unit_test(test_ready_pool_thieves_take_the_other_end),
        cmocka_unit_test(
            test_ready_pool_prio_lets_veterans_go_first_but_not_for_ever),
        cmocka_unit_test(
            test_ready_pool_earliest_goes_by_creation_but_not_for_ever),
        cmocka_unit_test(test_ready_pool_units_name_their_threads),
        cmocka_unit_test(test_ready_pool_push_claims_one_sleeper),
        cmocka_unit_test(
            test_ready_pool_pop_wait_is_ended_by_a_push_or_the_moment),
        cmocka_unit_test(test_ready_pool_bad_arguments_change_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
