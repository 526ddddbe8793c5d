/* SPDX-License-Identifier: BSD-3-Clause */
/* Time series: each interval has one point of each line, with what came in it;
 * points may be many; a reset forgets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <string.h>

#include "base/mem.h"
#include "margo/series.h"

enum { MANY = 1000 };

/* One number of one line; -1: there is none. */
static double point(const struct amg_series *series, const char *kind,
    const char *line, const char *column, size_t index)
{
    struct json_object *root = json_object_new_object();
    struct json_object *value = NULL;
    double number = -1;

    amg_series_json(series, 9, root);
    if (json_object_object_get_ex(root, kind, &value) &&
        json_object_object_get_ex(value, line, &value) &&
        json_object_object_get_ex(value, column, &value) &&
        index < json_object_array_length(value))
        number =
            json_object_get_double(json_object_array_get_idx(value, index));
    json_object_put(root);
    return number;
}

static void test_series_counts_by_interval(void **state)
{
    struct amg_series series = {.interval_s = 2, .next_s = 2};

    (void)state;
    amg_series_request(&series, 0x70003, "sum");
    amg_series_request(&series, 0x70003, "sum");
    amg_series_bytes(&series, 0x70003, 100);
    amg_series_bytes(&series, 0x90003, 100);
    assert_false(amg_series_is_due(&series, 1.9));
    assert_true(amg_series_is_due(&series, 2.5));
    amg_series_close(&series, 2.5);
    assert_false(amg_series_is_due(&series, 4.4));
    amg_series_request(&series, 0x70003, "sum");
    amg_series_close(&series, 4.5);
    assert_true(point(&series, "rpcs", "sum:3", "timestamps", 0) == 2.5);
    assert_true(point(&series, "rpcs", "sum:3", "count", 0) == 2);
    assert_true(point(&series, "rpcs", "sum:3", "bulk_size", 0) == 100);
    assert_true(point(&series, "rpcs", "sum:3", "count", 1) == 1);
    assert_true(point(&series, "rpcs", "sum:3", "bulk_size", 1) == 0);
    assert_true(point(&series, "rpcs", "sum:3", "count", 2) == -1);
    assert_true(point(&series, "rpcs", "none:3", "count", 0) == -1);
    amg_series_fini(&series);
}

static void test_series_keeps_many_points(void **state)
{
    struct amg_series series = {.interval_s = 1};
    ABT_pool pool = (ABT_pool)(uintptr_t)64;

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        amg_series_pool(&series, (double)i, pool, "__primary__", i, 2 * i);
    assert_true(
        point(&series, "pools", "__primary__", "size", MANY - 1) == MANY - 1);
    assert_true(point(&series, "pools", "__primary__", "total_size", 7) == 14);
    amg_series_reset(&series);
    assert_true(point(&series, "pools", "__primary__", "size", 0) == -1);
    amg_series_fini(&series);
}

static void test_series_no_memory_is_told(void **state)
{
    struct amg_series series = {.interval_s = 1};

    (void)state;
    amg_mem_fail_nth(1);
    amg_series_request(&series, 1, "sum");
    amg_mem_fail_nth(0);
    assert_true(series.is_short);
    amg_series_request(&series, 1, "sum");
    amg_series_close(&series, 1);
    assert_true(point(&series, "rpcs", "sum:1", "count", 0) == 1);
    amg_series_fini(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series_counts_by_interval),
        cmocka_unit_test(test_series_keeps_many_points),
        cmocka_unit_test(test_series_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
