/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics equal those computed by hand, also where deviations are small
 * beside the values. Breadcrumbs have their keys. Each interval of a time
 * series has one point per line, with its values; points may be many; a reset
 * drops them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "margo/monitor_stats.h"

static double member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    assert_true(json_object_object_get_ex(object, key, &value));
    return json_object_get_double(value);
}

/* The object at a path of keys, or NULL. */
static struct json_object *at(
    struct json_object *object, const char *const *keys)
{
    for (; *keys != NULL && object != NULL; keys++)
        if (!json_object_object_get_ex(object, *keys, &object))
            return NULL;
    return object;
}

#define AT(object, ...) at((object), (const char *const[]){__VA_ARGS__, NULL})

static void test_stats_none_is_zero(void **state)
{
    struct amg_stats stats = {0};
    struct json_object *object = amg_stats_json(&stats, 9);

    (void)state;
    assert_true(member(object, "num") == 0);
    assert_true(member(object, "avg") == 0);
    assert_true(member(object, "var") == 0);
    json_object_put(object);
}

static void test_stats_numbers_match(void **state)
{
    static const double numbers[] = {4, 7, 13, 16};
    struct amg_stats stats = {0};
    struct json_object *object = NULL;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        amg_stats_add(&stats, -numbers[i]);
    object = amg_stats_json(&stats, 9);
    assert_true(member(object, "num") == 4);
    assert_true(member(object, "min") == -16);
    assert_true(member(object, "max") == -4);
    assert_true(member(object, "avg") == -10);
    assert_true(member(object, "var") == 22.5);
    assert_true(member(object, "sum") == -40);
    json_object_put(object);
}

/* A sum of squares would lose all digits here. */
static void test_stats_large_numbers_keep_variance(void **state)
{
    struct amg_stats stats = {0};

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        amg_stats_add(&stats, 1e9 + (double)(i % 2));
    assert_true(fabs(stats.squares / 1000 - 0.25) < 1e-6);
}

static void test_stats_precision_cuts_digits(void **state)
{
    struct amg_stats stats = {0};
    struct json_object *object = NULL;
    struct json_object *number = NULL;

    (void)state;
    amg_stats_add(&stats, 1.0 / 3.0);
    object = amg_stats_json(&stats, 3);
    assert_true(json_object_object_get_ex(object, "avg", &number));
    assert_string_equal(json_object_to_json_string(number), "0.333");
    json_object_put(object);
}

static struct amg_stats_call *entry(struct amg_stats_book *book, hg_id_t parent,
    hg_id_t id, enum amg_stats_side side, const char *peer)
{
    const struct amg_breadcrumb path = {
        .parent = parent, .id = id, .side = side, .peer = peer, .name = "sum"};

    return amg_stats_book_find(book, &path);
}

static void test_book_same_path_is_same_entry(void **state)
{
    struct amg_stats_book book = {0};
    char peer[] = "a";
    struct amg_stats_call *first =
        entry(&book, 0, 0x10007, AMG_STATS_ORIGIN, peer);

    (void)state;
    peer[0] = 'b';
    assert_non_null(first);
    assert_ptr_equal(entry(&book, 0, 0x10007, AMG_STATS_ORIGIN, "a"), first);
    assert_ptr_not_equal(
        entry(&book, 0, 0x10007, AMG_STATS_TARGET, "a"), first);
    assert_ptr_not_equal(
        entry(&book, 1, 0x10007, AMG_STATS_ORIGIN, "a"), first);
    assert_ptr_not_equal(
        entry(&book, 0, 0x10007, AMG_STATS_ORIGIN, peer), first);
    amg_stats_book_fini(&book);
}

static void test_book_json_has_paths(void **state)
{
    struct amg_stats_book book = {0};
    struct amg_stats_call *call =
        entry(&book, 0, 0x5000000002, AMG_STATS_ORIGIN, "here");
    struct amg_breadcrumb path_of_call;
    struct json_object *rpcs = NULL;
    struct json_object *path = NULL;

    (void)state;
    amg_stats_add(&call->measures[AMG_STATS_IFORWARD].duration, 2.5);
    call = entry(&book, 0x30001, 0x5000000002, AMG_STATS_TARGET, "there");
    amg_stats_add(&call->measures[AMG_STATS_ULT].duration, 1);
    amg_stats_add(&call->measures[AMG_STATS_ULT].relative, 3);
    path_of_call = call->path;
    path_of_call.remote = "far";
    call = amg_stats_book_find(&book, &path_of_call);
    assert_non_null(call);
    amg_stats_add(&call->measures[AMG_STATS_IPULL].duration, 1);
    amg_stats_add(&call->measures[AMG_STATS_IPULL].size, 4096);
    rpcs = amg_stats_book_json(&book, 9);
    path = AT(rpcs, "65535:65535:343597449215:2");
    assert_non_null(path);
    assert_string_equal(json_object_get_string(AT(path, "name")), "sum");
    assert_true(member(path, "rpc_id") == 0x500000ffff);
    assert_true(member(path, "provider_id") == 2);
    assert_true(member(path, "parent_rpc_id") == 65535);
    assert_true(
        member(AT(path, "origin", "sent to here", "iforward", "duration"),
            "max") == 2.5);
    /* What has not happened is told, too. */
    assert_true(member(AT(path, "origin", "sent to here", "get_output",
                           "relative_timestamp_from_wait_end"),
                    "num") == 0);
    path = AT(rpcs, "262143:1:343597449215:2", "target", "received from there");
    assert_true(member(AT(path, "ult", "relative_timestamp_from_handler_start"),
                    "sum") == 3);
    assert_true(member(AT(path, "bulk", "pull from far", "itransfer", "size"),
                    "sum") == 4096);
    assert_null(AT(path, "bulk", "create"));
    json_object_put(rpcs);
    amg_stats_book_reset(&book);
    rpcs = amg_stats_book_json(&book, 9);
    path = AT(rpcs, "262143:1:343597449215:2", "target", "received from there");
    assert_true(member(AT(path, "bulk", "pull from far", "itransfer", "size"),
                    "num") == 0);
    assert_true(member(AT(path, "ult", "duration"), "num") == 0);
    json_object_put(rpcs);
    amg_stats_book_fini(&book);
}

/* Any allocation fails: the statistics are unchanged. */
static void test_book_no_memory_changes_nothing(void **state)
{
    struct amg_stats_book book = {0};
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    bool has_failed = false;

    (void)state;
    assert_non_null(entry(&book, 0, 1, AMG_STATS_ORIGIN, "a"));
    for (unsigned nth = 1;; nth++) {
        struct amg_stats_call *call = NULL;

        amg_mem_stats_get(&before);
        amg_mem_fail_nth(nth);
        call = entry(&book, 0, 2, AMG_STATS_ORIGIN, "a");
        amg_mem_fail_nth(0);
        if (call != NULL)
            break;
        has_failed = true;
        amg_mem_stats_get(&after);
        assert_int_equal(after.live, before.live);
    }
    assert_true(has_failed);
    amg_stats_book_fini(&book);
}

enum { MANY = 1000 };

/* One value of one line; -1: none. */
static double point(const struct amg_timeseries *series, const char *kind,
    const char *line, const char *column, size_t index)
{
    struct json_object *root = json_object_new_object();
    struct json_object *value = NULL;
    double number = -1;

    amg_timeseries_json(series, 9, root);
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
    struct amg_timeseries series = {.interval_s = 2, .next_s = 2};

    (void)state;
    amg_timeseries_request(&series, 0x70003, "sum", 1);
    amg_timeseries_request(&series, 0x70003, "sum", 1);
    amg_timeseries_bytes(&series, 0x70003, 100);
    amg_timeseries_bytes(&series, 0x90003, 100);
    assert_false(amg_timeseries_is_due(&series, 1.9));
    assert_true(amg_timeseries_is_due(&series, 2.5));
    amg_timeseries_close(&series, 2.5);
    assert_false(amg_timeseries_is_due(&series, 4.4));
    amg_timeseries_request(&series, 0x70003, "sum", 1);
    amg_timeseries_close(&series, 4.5);
    assert_true(point(&series, "rpcs", "sum:3", "timestamps", 0) == 2.5);
    assert_true(point(&series, "rpcs", "sum:3", "count", 0) == 2);
    assert_true(point(&series, "rpcs", "sum:3", "bulk_size", 0) == 100);
    assert_true(point(&series, "rpcs", "sum:3", "count", 1) == 1);
    assert_true(point(&series, "rpcs", "sum:3", "bulk_size", 1) == 0);
    assert_true(point(&series, "rpcs", "sum:3", "count", 2) == -1);
    assert_true(point(&series, "rpcs", "none:3", "count", 0) == -1);
    amg_timeseries_fini(&series);
}

static void test_series_keeps_many_points(void **state)
{
    struct amg_timeseries series = {.interval_s = 1};
    ABT_pool pool = (ABT_pool)(uintptr_t)64;

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        amg_timeseries_pool(&series, (double)i, pool, "__primary__", i, 2 * i);
    assert_true(
        point(&series, "pools", "__primary__", "size", MANY - 1) == MANY - 1);
    assert_true(point(&series, "pools", "__primary__", "total_size", 7) == 14);
    amg_timeseries_reset(&series);
    assert_true(point(&series, "pools", "__primary__", "size", 0) == -1);
    amg_timeseries_fini(&series);
}

static void test_series_no_memory_is_logged(void **state)
{
    struct amg_timeseries series = {.interval_s = 1};

    (void)state;
    amg_mem_fail_nth(1);
    amg_timeseries_request(&series, 1, "sum", 1);
    amg_mem_fail_nth(0);
    assert_true(series.is_short);
    amg_timeseries_request(&series, 1, "sum", 1);
    amg_timeseries_close(&series, 1);
    assert_true(point(&series, "rpcs", "sum:1", "count", 0) == 1);
    amg_timeseries_fini(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats_none_is_zero),
        cmocka_unit_test(test_stats_numbers_match),
        cmocka_unit_test(test_stats_large_numbers_keep_variance),
        cmocka_unit_test(test_stats_precision_cuts_digits),
        cmocka_unit_test(test_book_same_path_is_same_entry),
        cmocka_unit_test(test_book_json_has_paths),
        cmocka_unit_test(test_book_no_memory_changes_nothing),
        cmocka_unit_test(test_series_counts_by_interval),
        cmocka_unit_test(test_series_keeps_many_points),
        cmocka_unit_test(test_series_no_memory_is_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
