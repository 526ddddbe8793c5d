/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers agree with the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abt.h"
#include "base/clock.h"

static void test_timer_bad_arguments_change_nothing(void **state)
{
    ABT_timer none = ABT_TIMER_NULL;
    ABT_timer one = ABT_TIMER_NULL;
    double secs = 3;

    (void)state;
    assert_int_equal(ABT_timer_create(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_dup(none, &one), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_free(&none), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_start(none), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_stop(none), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_read(none, &secs), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_stop_and_read(none, &secs), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_stop_and_add(none, &secs), ABT_ERR_INV_TIMER);
    assert_int_equal(ABT_timer_get_overhead(NULL), ABT_ERR_INV_ARG);
    assert_true(secs == 3);
    assert_int_equal(ABT_timer_create(&one), ABT_SUCCESS);
    assert_int_equal(ABT_timer_dup(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_read(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_stop_and_read(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_stop_and_add(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_timer_free(&one), ABT_SUCCESS);
    assert_null(one);
}

static void test_timer_measures_between(void **state)
{
    ABT_timer timer = ABT_TIMER_NULL;
    ABT_timer copy = ABT_TIMER_NULL;
    double inner = 0;
    double read = 0;
    double before = 0;
    double outer = 0;

    (void)state;
    assert_int_equal(ABT_timer_create(&timer), ABT_SUCCESS);
    before = ABT_get_wtime();
    assert_int_equal(ABT_timer_start(timer), ABT_SUCCESS);
    amg_clock_sleep_ns(2 * AMG_NS_PER_MS);
    assert_int_equal(ABT_timer_stop(timer), ABT_SUCCESS);
    outer = ABT_get_wtime() - before;
    assert_int_equal(ABT_timer_read(timer, &inner), ABT_SUCCESS);
    assert_true(inner >= 0.002 && inner <= outer);
    assert_int_equal(ABT_timer_dup(timer, &copy), ABT_SUCCESS);
    assert_int_equal(ABT_timer_read(copy, &read), ABT_SUCCESS);
    assert_true(read == inner);
    read = 100;
    assert_int_equal(ABT_timer_stop_and_add(copy, &read), ABT_SUCCESS);
    assert_true(read > 100 + inner);
    assert_int_equal(ABT_timer_stop_and_read(copy, &read), ABT_SUCCESS);
    assert_true(read > inner && read < 100);
    assert_int_equal(ABT_timer_get_overhead(&read), ABT_SUCCESS);
    assert_true(read >= 0 && read < 1);
    assert_int_equal(ABT_timer_free(&timer), ABT_SUCCESS);
    assert_int_equal(ABT_timer_free(&copy), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer_bad_arguments_change_nothing),
        cmocka_unit_test(test_timer_measures_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
