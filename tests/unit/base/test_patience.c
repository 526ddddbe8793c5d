/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait for other ranks is logged after a while, and ends only where
 * AMALGAM_GIVE_UP_MS says so. */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Makes the wait begin `ms` earlier, maybe before the machine started. */
static void age(struct amg_patience *patience, uint64_t ms)
{
    patience->start_ns -= ms * AMG_NS_PER_MS;
}

static void test_patience_logs_and_waits_on(void **state)
{
    struct amg_patience patience = {0, 0};

    (void)state;
    setenv("AMALGAM_FINALIZE_TIMEOUT_MS", "1000000", 1);
    unsetenv("AMALGAM_GIVE_UP_MS");
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_WAIT);
    age(&patience, 1000000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_TELL);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_WAIT);
    age(&patience, 900000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_WAIT);
    age(&patience, 200000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_TELL);
    age(&patience, 4000000000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_TELL);
}

static void test_patience_given_up_is_over(void **state)
{
    struct amg_patience patience = {0, 0};

    (void)state;
    setenv("AMALGAM_FINALIZE_TIMEOUT_MS", "1000000", 1);
    setenv("AMALGAM_GIVE_UP_MS", "2000000", 1);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_WAIT);
    age(&patience, 1500000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_TELL);
    age(&patience, 600000);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_OVER);
    assert_int_equal(amg_patience_look(&patience), AMG_PATIENCE_OVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patience_logs_and_waits_on),
        cmocka_unit_test(test_patience_given_up_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
