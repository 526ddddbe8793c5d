/* SPDX-License-Identifier: BSD-3-Clause */
/* Time is monotonic; durations are added, subtracted and converted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mercury_time.h"

static hg_time_t time_of(long sec, long nsec)
{
    hg_time_t tv = {.tv_sec = sec, .tv_nsec = nsec};

    return tv;
}

static void test_time_get_current_never_goes_back(void **state)
{
    hg_time_t before, now;

    (void)state;
    assert_int_equal(hg_time_get_current(&before), HG_UTIL_SUCCESS);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(hg_time_get_current(&now), HG_UTIL_SUCCESS);
        assert_false(hg_time_less(now, before));
        before = now;
    }
    assert_int_equal(hg_time_get_current(NULL), HG_UTIL_FAIL);
}

static void test_time_get_current_ms_is_the_same_clock(void **state)
{
    hg_time_t coarse, fine;

    (void)state;
    assert_int_equal(hg_time_get_current_ms(&coarse), HG_UTIL_SUCCESS);
    assert_int_equal(hg_time_get_current(&fine), HG_UTIL_SUCCESS);
    assert_false(hg_time_less(fine, coarse));
    assert_int_equal(hg_time_get_current_ms(NULL), HG_UTIL_FAIL);
}

static void test_time_sleep_lasts_as_long(void **state)
{
    hg_time_t before, now;

    (void)state;
    hg_time_get_current(&before);
    assert_int_equal(hg_time_sleep(hg_time_from_ms(2)), HG_UTIL_SUCCESS);
    hg_time_get_current(&now);
    assert_true(hg_time_diff(now, before) >= 0.002);
    assert_int_equal(hg_time_sleep(time_of(-1, 0)), HG_UTIL_FAIL);
    assert_int_equal(hg_time_sleep(time_of(0, -1)), HG_UTIL_FAIL);
}

static void test_time_conversions_come_back(void **state)
{
    hg_time_t tv = hg_time_from_ms(12345);

    (void)state;
    assert_int_equal(tv.tv_sec, 12);
    assert_int_equal(tv.tv_nsec, 345000000);
    assert_int_equal(hg_time_to_ms(tv), 12345);
    tv = hg_time_from_double(1.5);
    assert_int_equal(tv.tv_sec, 1);
    assert_int_equal(tv.tv_nsec, 500000000);
    assert_true(hg_time_to_double(tv) == 1.5);
    tv = hg_time_from_double(-0.25);
    assert_int_equal(tv.tv_sec, -1);
    assert_int_equal(tv.tv_nsec, 750000000);
    assert_true(hg_time_to_double(tv) == -0.25);
    /* So little below 0 that rounding gives a whole second. */
    tv = hg_time_from_double(-1e-20);
    assert_int_equal(tv.tv_sec, 0);
    assert_int_equal(tv.tv_nsec, 0);
    tv = hg_time_from_double(-3.0);
    assert_int_equal(tv.tv_sec, -3);
    assert_int_equal(tv.tv_nsec, 0);
}

static void test_time_arithmetic_carries(void **state)
{
    hg_time_t a = time_of(3, 900000000), b = time_of(1, 200000000);
    hg_time_t sum = hg_time_add(a, b);
    hg_time_t less = hg_time_subtract(time_of(3, 100000000), b);

    (void)state;
    assert_int_equal(sum.tv_sec, 5);
    assert_int_equal(sum.tv_nsec, 100000000);
    assert_int_equal(less.tv_sec, 1);
    assert_int_equal(less.tv_nsec, 900000000);
    assert_true(hg_time_diff(time_of(5, 500000000), time_of(3, 0)) == 2.5);
    assert_true(hg_time_diff(time_of(3, 0), time_of(5, 500000000)) == -2.5);
    assert_true(hg_time_less(b, a));
    assert_false(hg_time_less(a, b));
    assert_false(hg_time_less(a, a));
    assert_true(hg_time_less(time_of(1, 1), time_of(1, 2)));
}

static void test_time_stamp_is_a_text(void **state)
{
    (void)state;
    assert_int_equal(strlen(hg_time_stamp()), 24);
    assert_null(strchr(hg_time_stamp(), '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_get_current_never_goes_back),
        cmocka_unit_test(test_time_get_current_ms_is_the_same_clock),
        cmocka_unit_test(test_time_sleep_lasts_as_long),
        cmocka_unit_test(test_time_conversions_come_back),
        cmocka_unit_test(test_time_arithmetic_carries),
        cmocka_unit_test(test_time_stamp_is_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
