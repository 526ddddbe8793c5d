/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of hardware threads: union, intersection, comparison, text form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "affinity/cpuset.h"

static struct amg_cpuset set_of(unsigned first, unsigned last)
{
    struct amg_cpuset set = {{0}};

    for (unsigned cpu = first; cpu <= last; cpu++)
        amg_cpuset_add(&set, cpu);
    return set;
}

static void test_cpuset_knows_its_members(void **state)
{
    struct amg_cpuset set = set_of(62, 65);

    (void)state;
    assert_int_equal(amg_cpuset_count(&set), 4);
    assert_false(amg_cpuset_has(&set, 61));
    assert_true(amg_cpuset_has(&set, 63));
    assert_true(amg_cpuset_has(&set, 64));
    assert_false(amg_cpuset_has(&set, AMG_CPUS_MAX));
    set.words[1] &= ~1ull;
    assert_false(amg_cpuset_has(&set, 64));
    assert_int_equal(amg_cpuset_count(&set), 3);
}

static void test_cpuset_is_compared(void **state)
{
    struct amg_cpuset low = set_of(0, 99);
    struct amg_cpuset high = set_of(100, AMG_CPUS_MAX - 1);
    struct amg_cpuset middle = set_of(99, 100);
    struct amg_cpuset none = {{0}};

    (void)state;
    assert_false(amg_cpuset_meets(&low, &high));
    assert_true(amg_cpuset_meets(&low, &middle));
    assert_true(amg_cpuset_meets(&middle, &high));
    assert_false(amg_cpuset_meets(&low, &none));
    assert_false(amg_cpuset_covers(&low, &middle));
    assert_true(amg_cpuset_covers(&low, &none));
    amg_cpuset_unite(&low, &high);
    assert_true(amg_cpuset_covers(&low, &middle));
    assert_int_equal(amg_cpuset_count(&low), AMG_CPUS_MAX);
    amg_cpuset_cut(&low, &middle);
    assert_memory_equal(&low, &middle, sizeof(low));
}

static void test_cpuset_format_writes_a_list(void **state)
{
    struct amg_cpuset set = set_of(0, 3);
    struct amg_cpuset none = {{0}};
    char text[64];

    (void)state;
    assert_string_equal(amg_cpuset_format(&none, text, sizeof(text)), "");
    assert_string_equal(amg_cpuset_format(&set, text, sizeof(text)), "0-3");
    amg_cpuset_add(&set, 8);
    amg_cpuset_add(&set, AMG_CPUS_MAX - 1);
    assert_string_equal(
        amg_cpuset_format(&set, text, sizeof(text)), "0-3,8,1023");
}

static void test_cpuset_format_cuts_with_dots(void **state)
{
    struct amg_cpuset set = {{0}};
    char text[32];
    char whole[2 * AMG_CPUS_MAX * 3];

    (void)state;
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu += 2)
        amg_cpuset_add(&set, cpu);
    amg_cpuset_format(&set, whole, sizeof(whole));
    assert_null(strstr(whole, "..."));
    for (size_t cap = 1; cap <= sizeof(text); cap++) {
        size_t len = 0;

        memset(text, 'x', sizeof(text));
        amg_cpuset_format(&set, text, cap);
        len = strlen(text);
        assert_true(len < cap);
        if (cap >= 4) {
            assert_string_equal(text + len - 3, "...");
            assert_memory_equal(text, whole, len - 3);
            assert_true(len == 3 || whole[len - 3] == ',');
        }
        for (size_t i = cap; i < sizeof(text); i++)
            assert_int_equal(text[i], 'x');
    }
    text[0] = 'x';
    amg_cpuset_format(&set, text, 0);
    assert_int_equal(text[0], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpuset_knows_its_members),
        cmocka_unit_test(test_cpuset_is_compared),
        cmocka_unit_test(test_cpuset_format_writes_a_list),
        cmocka_unit_test(test_cpuset_format_cuts_with_dots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
