/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table finds, replaces, removes and iterates values by key; removed
 * values are freed once; a failed allocation changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "mercury_hash_string.h"
#include "mercury_hash_table.h"

enum { MANY = 1000 };

static unsigned table_keys_freed;
static unsigned table_values_freed;

static unsigned int text_hash(hg_hash_table_key_t key)
{
    return hg_hash_string((const char *)key);
}

static int text_equal(hg_hash_table_key_t a, hg_hash_table_key_t b)
{
    return strcmp((const char *)a, (const char *)b) == 0;
}

/* All in one chain: only equality can decide. */
static unsigned int same_hash(hg_hash_table_key_t key)
{
    (void)key;
    return 7;
}

static int number_equal(hg_hash_table_key_t a, hg_hash_table_key_t b)
{
    return *(int *)a == *(int *)b;
}

static unsigned int number_hash(hg_hash_table_key_t key)
{
    return (unsigned)*(int *)key;
}

static void key_free(hg_hash_table_key_t key)
{
    table_keys_freed++;
    amg_mem_free(key);
}

static void value_free(hg_hash_table_value_t value)
{
    table_values_freed++;
    amg_mem_free(value);
}

static void test_hash_table_finds_by_equal_keys(void **state)
{
    hg_hash_table_t *table = hg_hash_table_new(text_hash, text_equal);
    char key[] = "key", same[] = "key", other[] = "other";
    int one = 1, two = 2;

    (void)state;
    assert_non_null(table);
    assert_ptr_equal(hg_hash_table_lookup(table, key), HG_HASH_TABLE_NULL);
    assert_int_not_equal(hg_hash_table_insert(table, key, &one), 0);
    assert_ptr_equal(hg_hash_table_lookup(table, same), &one);
    assert_ptr_equal(hg_hash_table_lookup(table, other), HG_HASH_TABLE_NULL);
    assert_int_not_equal(hg_hash_table_insert(table, same, &two), 0);
    assert_int_equal(hg_hash_table_num_entries(table), 1);
    assert_ptr_equal(hg_hash_table_lookup(table, key), &two);
    assert_int_equal(hg_hash_table_remove(table, other), 0);
    assert_int_not_equal(hg_hash_table_remove(table, key), 0);
    assert_int_equal(hg_hash_table_remove(table, key), 0);
    assert_int_equal(hg_hash_table_num_entries(table), 0);
    hg_hash_table_free(table);
}

static void many_check(hg_hash_table_hash_func_t hash)
{
    static int numbers[MANY];
    hg_hash_table_t *table = hg_hash_table_new(hash, number_equal);
    hg_hash_table_iter_t iter;
    unsigned seen = 0;

    for (int i = 0; i < MANY; i++) {
        numbers[i] = i;
        assert_int_not_equal(
            hg_hash_table_insert(table, &numbers[i], &numbers[i]), 0);
    }
    assert_int_equal(hg_hash_table_num_entries(table), MANY);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(hg_hash_table_lookup(table, &i), &numbers[i]);
    /* Each is visited once, even if it is removed meanwhile. */
    hg_hash_table_iterate(table, &iter);
    while (hg_hash_table_iter_has_more(&iter)) {
        int *value = hg_hash_table_iter_next(&iter);

        assert_true(value == &numbers[*value]);
        assert_int_not_equal(hg_hash_table_remove(table, value), 0);
        seen++;
    }
    assert_ptr_equal(hg_hash_table_iter_next(&iter), HG_HASH_TABLE_NULL);
    assert_int_equal(seen, MANY);
    assert_int_equal(hg_hash_table_num_entries(table), 0);
    hg_hash_table_free(table);
}

static void test_hash_table_holds_many(void **state)
{
    (void)state;
    many_check(number_hash);
    many_check(same_hash);
}

static void test_hash_table_frees_removed_entries(void **state)
{
    hg_hash_table_t *table = hg_hash_table_new(text_hash, text_equal);
    struct amg_mem_stats before, after;
    char key[] = "a";

    (void)state;
    amg_mem_stats_get(&before);
    table_keys_freed = table_values_freed = 0;
    hg_hash_table_register_free_functions(table, key_free, value_free);
    hg_hash_table_insert(table, amg_mem_strdup("a"), amg_mem_strdup("1"));
    hg_hash_table_insert(table, amg_mem_strdup("a"), amg_mem_strdup("2"));
    assert_int_equal(table_keys_freed, 1);
    assert_int_equal(table_values_freed, 1);
    assert_string_equal(hg_hash_table_lookup(table, key), "2");
    hg_hash_table_remove(table, key);
    assert_int_equal(table_keys_freed, 2);
    hg_hash_table_insert(table, amg_mem_strdup("b"), amg_mem_strdup("3"));
    hg_hash_table_insert(table, amg_mem_strdup("c"), amg_mem_strdup("4"));
    hg_hash_table_free(table);
    assert_int_equal(table_keys_freed, 4);
    assert_int_equal(table_values_freed, 4);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live - 1); /* the table itself */
}

static void test_hash_table_no_memory_changes_nothing(void **state)
{
    hg_hash_table_t *table = NULL;
    int one = 1;

    (void)state;
    amg_mem_fail_nth(1);
    assert_null(hg_hash_table_new(number_hash, number_equal));
    table = hg_hash_table_new(number_hash, number_equal);
    for (unsigned n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_int_equal(hg_hash_table_insert(table, &one, &one), 0);
        assert_int_equal(hg_hash_table_num_entries(table), 0);
    }
    amg_mem_fail_nth(0);
    assert_int_not_equal(hg_hash_table_insert(table, &one, &one), 0);
    hg_hash_table_free(table);
}

static void test_hash_table_misuse_is_answered(void **state)
{
    hg_hash_table_iter_t iter;
    int one = 1;

    (void)state;
    assert_null(hg_hash_table_new(NULL, number_equal));
    assert_null(hg_hash_table_new(number_hash, NULL));
    assert_int_equal(hg_hash_table_insert(NULL, &one, &one), 0);
    assert_null(hg_hash_table_lookup(NULL, &one));
    assert_int_equal(hg_hash_table_remove(NULL, &one), 0);
    assert_int_equal(hg_hash_table_num_entries(NULL), 0);
    hg_hash_table_register_free_functions(NULL, NULL, NULL);
    hg_hash_table_iterate(NULL, &iter);
    assert_int_equal(hg_hash_table_iter_has_more(&iter), 0);
    hg_hash_table_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_table_finds_by_equal_keys),
        cmocka_unit_test(test_hash_table_holds_many),
        cmocka_unit_test(test_hash_table_frees_removed_entries),
        cmocka_unit_test(test_hash_table_no_memory_changes_nothing),
        cmocka_unit_test(test_hash_table_misuse_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
