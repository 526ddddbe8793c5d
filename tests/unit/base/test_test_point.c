/* SPDX-License-Identifier: BSD-3-Clause */
/* A test point calls the hook while one is set; builds without points call
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/assert.h"

#if defined(AMG_TEST_POINTS)
enum { HAS_POINTS = 1 };
#else
enum { HAS_POINTS = 0 };
#endif

static const char *reached;
static int times;

static void hook(const char *name)
{
    reached = name;
    times++;
}

static void test_point_with_hook_calls_it(void **state)
{
    (void)state;
    amg_test_point_set(hook);
    AMG_TEST_POINT("here");
    amg_test_point_set(NULL);
    assert_int_equal(times, HAS_POINTS);
    if (HAS_POINTS)
        assert_string_equal(reached, "here");
}

static void test_point_without_hook_is_nothing(void **state)
{
    (void)state;
    times = 0;
    AMG_TEST_POINT("there");
    assert_int_equal(times, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_point_with_hook_calls_it),
        cmocka_unit_test(test_point_without_hook_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
