/* SPDX-License-Identifier: BSD-3-Clause */
/* A future becomes ready with its last value, after its callback ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "abt.h"

enum { THREADS = 4, VALUES = 400 };

static ABT_bool is_ready(ABT_future future)
{
    ABT_bool ready = 5;

    assert_int_equal(ABT_future_test(future, &ready), ABT_SUCCESS);
    return ready;
}

static void test_future_bad_arguments_change_nothing(void **state)
{
    ABT_future none = ABT_FUTURE_NULL;
    ABT_future one = ABT_FUTURE_NULL;
    ABT_bool ready = ABT_FALSE;

    (void)state;
    assert_int_equal(ABT_future_create(1, NULL, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_future_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_future_free(&none), ABT_ERR_INV_FUTURE);
    assert_int_equal(ABT_future_wait(none), ABT_ERR_INV_FUTURE);
    assert_int_equal(ABT_future_test(none, &ready), ABT_ERR_INV_FUTURE);
    assert_int_equal(ABT_future_set(none, NULL), ABT_ERR_INV_FUTURE);
    assert_int_equal(ABT_future_reset(none), ABT_ERR_INV_FUTURE);
    assert_int_equal(ABT_future_create(1, NULL, &one), ABT_SUCCESS);
    assert_int_equal(ABT_future_test(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(is_ready(one), ABT_FALSE);
    assert_int_equal(ABT_future_set(one, NULL), ABT_SUCCESS);
    assert_int_equal(ABT_future_set(one, NULL), ABT_ERR_FUTURE);
    assert_int_equal(is_ready(one), ABT_TRUE);
    assert_int_equal(ABT_future_reset(one), ABT_SUCCESS);
    assert_int_equal(is_ready(one), ABT_FALSE);
    assert_int_equal(ABT_future_free(&one), ABT_SUCCESS);
    assert_null(one);
}

static void test_future_of_nothing_is_ready(void **state)
{
    ABT_future future = ABT_FUTURE_NULL;

    (void)state;
    assert_int_equal(ABT_future_create(0, NULL, &future), ABT_SUCCESS);
    assert_int_equal(is_ready(future), ABT_TRUE);
    assert_int_equal(ABT_future_wait(future), ABT_SUCCESS);
    assert_int_equal(ABT_future_set(future, NULL), ABT_ERR_FUTURE);
    assert_int_equal(ABT_future_reset(future), ABT_SUCCESS);
    assert_int_equal(is_ready(future), ABT_TRUE);
    assert_int_equal(ABT_future_free(&future), ABT_SUCCESS);
}

static atomic_int summed;
static int64_t sum; /* plain on purpose: written before a waiter is woken */

static void add_up(void **values)
{
    int64_t all = 0;

    for (int i = 0; i < VALUES; i++)
        all += (int64_t)(intptr_t)values[i];
    sum = all;
    atomic_fetch_add(&summed, 1);
}

static ABT_future the_future;

static void *set_some(void *arg)
{
    uintptr_t failures = 0;

    for (intptr_t i = (intptr_t)arg; i < VALUES; i += THREADS)
        failures += ABT_future_set(the_future, (void *)i) != ABT_SUCCESS;
    return (void *)failures;
}

static void *wait_for_sum(void *arg)
{
    (void)arg;
    if (ABT_future_wait(the_future) != ABT_SUCCESS)
        return NULL;
    return sum == (int64_t)VALUES * (VALUES - 1) / 2 ? &sum : NULL;
}

static void test_future_values_from_all_sides(void **state)
{
    pthread_t setters[THREADS];
    pthread_t waiters[THREADS];

    (void)state;
    assert_int_equal(
        ABT_future_create(VALUES, add_up, &the_future), ABT_SUCCESS);
    for (intptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(
            pthread_create(&waiters[i], NULL, wait_for_sum, NULL), 0);
        assert_int_equal(
            pthread_create(&setters[i], NULL, set_some, (void *)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;
        void *back = NULL;

        assert_int_equal(pthread_join(setters[i], &failures), 0);
        assert_null(failures);
        assert_int_equal(pthread_join(waiters[i], &back), 0);
        assert_ptr_equal(back, &sum);
    }
    assert_int_equal(atomic_load(&summed), 1);
    assert_int_equal(ABT_future_free(&the_future), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_future_bad_arguments_change_nothing),
        cmocka_unit_test(test_future_of_nothing_is_ready),
        cmocka_unit_test(test_future_values_from_all_sides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
