/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of counters: the public header lists the same counters as the
 * library, in the same order, and a caller gets as many as it has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "amalgam_counters.h"
#include "mercury.h"

enum { MAX = 64, UNTOUCHED = 77 };

/* Lines " * `NAME` (UNIT): TEXT" of the header. */
static void test_counters_header_lists_them_in_order(void **state)
{
    struct amalgam_counter all[MAX];
    size_t count = amalgam_counters(NULL, all, MAX);
    size_t listed = 0;
    FILE *header = fopen(HEADER, "r");
    char line[128];

    (void)state;
    assert_non_null(header);
    while (fgets(line, sizeof(line), header) != NULL) {
        char name[32];
        char unit[32];

        if (sscanf(line, " * `%31[a-z_]` (%31[a-z]):", name, unit) != 2)
            continue;
        assert_true(listed < count);
        assert_string_equal(name, all[listed].name);
        assert_string_equal(unit, all[listed].unit);
        listed++;
    }
    assert_int_equal(listed, count);
    assert_int_equal(fclose(header), 0);
}

static void test_counters_without_class_are_zero(void **state)
{
    struct amalgam_counter all[MAX];
    size_t count = amalgam_counters(NULL, all, MAX);

    (void)state;
    assert_true(count > 0 && count < MAX);
    for (size_t i = 0; i < count; i++) {
        assert_true(all[i].name[0] != '\0' && all[i].meaning[0] != '\0');
        assert_int_equal(all[i].value, 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(all[i].name, all[j].name);
    }
}

static void test_counters_only_fill_the_room_given(void **state)
{
    struct amalgam_counter two[2] = {{.value = 1}, {.value = UNTOUCHED}};

    (void)state;
    assert_int_equal(
        amalgam_counters(NULL, two, 1), amalgam_counters(NULL, NULL, 0));
    assert_int_equal(two[0].value, 0);
    assert_int_equal(two[1].value, UNTOUCHED);
    assert_null(two[1].name);
}

static void test_counters_refuse_misuse(void **state)
{
    hg_class_t *cls = HG_Init("self", HG_TRUE);
    struct amalgam_counter one;

    (void)state;
    assert_non_null(cls);
    HG_Set_log_level("none");
    assert_int_equal(amalgam_counters(cls, NULL, 1), 0);
    assert_int_equal(HG_Finalize(cls), HG_SUCCESS);
    assert_int_equal(amalgam_counters(cls, &one, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_header_lists_them_in_order),
        cmocka_unit_test(test_counters_without_class_are_zero),
        cmocka_unit_test(test_counters_only_fill_the_room_given),
        cmocka_unit_test(test_counters_refuse_misuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
