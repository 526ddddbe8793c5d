/* SPDX-License-Identifier: BSD-3-Clause */
/* A visit stamps a state once, until its owner stores a state; ages are the
 * difference of stamps, also when the clock of stamps begins again. */
#include "base/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { IDLE, BUSY, STATES_BUSY = 1 << BUSY };

static void test_stamp_visit_stamps_once_until_the_state_is_stored(void **state)
{
    atomic_uint word;
    unsigned seen = 0;

    (void)state;
    atomic_init(&word, BUSY);
    seen = amg_stamp_visit(&word, STATES_BUSY, 7);
    assert_int_equal(seen & AMG_STAMP_STATE, BUSY);
    assert_int_equal(amg_stamp_age_ms(7, seen), 0);
    assert_int_equal(amg_stamp_visit(&word, STATES_BUSY, 9), seen);
    assert_int_equal(amg_stamp_age_ms(9, seen), 2 * AMG_STAMP_MS);
    assert_true(amg_stamp_is_same(&word, seen));
    atomic_store(&word, BUSY); /* the next use of the object */
    assert_false(amg_stamp_is_same(&word, seen));
    seen = amg_stamp_visit(&word, STATES_BUSY, 10);
    assert_int_equal(amg_stamp_age_ms(10, seen), 0);
}

static void test_stamp_visit_leaves_other_states_alone(void **state)
{
    atomic_uint word;

    (void)state;
    atomic_init(&word, IDLE);
    assert_int_equal(amg_stamp_visit(&word, STATES_BUSY, 7), 0);
    assert_int_equal(atomic_load(&word), IDLE);
}

static void test_stamp_of_time_is_never_zero_and_goes_on_after_its_end(
    void **state)
{
    const uint64_t unit_ns = AMG_STAMP_MS * AMG_NS_PER_MS;
    uint32_t last = amg_stamp_of((AMG_STAMP_MAX - 1) * unit_ns);
    uint32_t first = amg_stamp_of(AMG_STAMP_MAX * unit_ns);

    (void)state;
    assert_int_equal(amg_stamp_of(0), 1);
    assert_int_equal(last, AMG_STAMP_MAX);
    assert_int_equal(first, 1);
    assert_int_equal(
        amg_stamp_age_ms(first, last << AMG_STAMP_SHIFT), AMG_STAMP_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_stamp_visit_stamps_once_until_the_state_is_stored),
        cmocka_unit_test(test_stamp_visit_leaves_other_states_alone),
        cmocka_unit_test(
            test_stamp_of_time_is_never_zero_and_goes_on_after_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
