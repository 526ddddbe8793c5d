/* SPDX-License-Identifier: BSD-3-Clause */
/* A map finds its values after any number of insertions, replacements and
 * removals; a failed allocation leaves it unchanged. */
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/mem.h"

enum { KEYS = 5000 };

static int values[KEYS];
static unsigned dropped;

/* Keys that share low bits, and some that share high ones. */
static uint64_t key_at(unsigned i)
{
    return i % 2 == 0 ? (uint64_t)i << 40 : i;
}

static void value_drop(void *value)
{
    assert_non_null(value);
    dropped++;
}

static void test_map_empty_finds_nothing(void **state)
{
    struct amg_map map = {0};

    (void)state;
    assert_null(amg_map_get(&map, 0));
    assert_null(amg_map_remove(&map, 7));
    amg_map_fini(&map, value_drop);
    assert_int_equal(dropped, 0);
}

static void test_map_many_keys_find_their_values(void **state)
{
    struct amg_map map = {0};

    (void)state;
    for (unsigned i = 0; i < KEYS; i++)
        assert_int_equal(amg_map_put(&map, key_at(i), &values[i]), HG_SUCCESS);
    for (unsigned i = 0; i < KEYS; i++)
        assert_ptr_equal(amg_map_get(&map, key_at(i)), &values[i]);
    assert_null(amg_map_get(&map, UINT64_MAX));
    for (unsigned i = 0; i < KEYS; i += 3)
        assert_ptr_equal(amg_map_remove(&map, key_at(i)), &values[i]);
    for (unsigned i = 0; i < KEYS; i++)
        assert_ptr_equal(
            amg_map_get(&map, key_at(i)), i % 3 == 0 ? NULL : &values[i]);
    dropped = 0;
    amg_map_fini(&map, value_drop);
    assert_int_equal(dropped, KEYS - (KEYS + 2) / 3);
    assert_null(amg_map_get(&map, key_at(1)));
}

static void test_map_put_again_replaces(void **state)
{
    struct amg_map map = {0};

    (void)state;
    assert_int_equal(amg_map_put(&map, 5, &values[0]), HG_SUCCESS);
    assert_int_equal(amg_map_put(&map, 5, &values[1]), HG_SUCCESS);
    assert_ptr_equal(amg_map_get(&map, 5), &values[1]);
    assert_ptr_equal(amg_map_remove(&map, 5), &values[1]);
    assert_null(amg_map_get(&map, 5));
    amg_map_fini(&map, NULL);
}

static void test_map_without_memory_stays_as_it_was(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    for (uint64_t n = 1; n < 8; n++) {
        struct amg_map map = {0};
        hg_return_t rc;

        amg_mem_fail_nth(n);
        rc = amg_map_put(&map, 1, &values[1]);
        assert_true(rc == HG_SUCCESS || rc == HG_NOMEM);
        assert_ptr_equal(
            amg_map_get(&map, 1), rc == HG_SUCCESS ? &values[1] : NULL);
        amg_mem_fail_nth(0);
        assert_int_equal(amg_map_put(&map, 2, &values[2]), HG_SUCCESS);
        assert_ptr_equal(amg_map_get(&map, 2), &values[2]);
        amg_map_fini(&map, NULL);
    }
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_empty_finds_nothing),
        cmocka_unit_test(test_map_many_keys_find_their_values),
        cmocka_unit_test(test_map_put_again_replaces),
        cmocka_unit_test(test_map_without_memory_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
