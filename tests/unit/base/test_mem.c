/* SPDX-License-Identifier: BSD-3-Clause */
/* Heap memory is counted, and allocations fail when a test asks for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"

enum { LEN = 1000 };

static struct amg_mem_stats stats_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats;
}

static void test_mem_alloc_free_counts(void **state)
{
    struct amg_mem_stats before = stats_now();
    struct amg_mem_stats between;
    void *block = amg_mem_alloc(LEN);

    (void)state;
    assert_non_null(block);
    between = stats_now();
    assert_int_equal(between.calls, before.calls + 1);
    assert_int_equal(between.live, before.live + 1);
    assert_true(between.bytes >= before.bytes + LEN);
    amg_mem_free(block);
    amg_mem_free(NULL);
    assert_int_equal(stats_now().live, before.live);
    assert_int_equal(stats_now().bytes, before.bytes);
}

static void test_mem_zalloc_is_zero(void **state)
{
    unsigned char *block = amg_mem_zalloc(LEN);

    (void)state;
    assert_non_null(block);
    for (int i = 0; i < LEN; i++)
        assert_int_equal(block[i], 0);
    amg_mem_free(block);
}

static void test_mem_alloc_aligned_is_aligned(void **state)
{
    (void)state;
    for (size_t align = 8; align <= 4096; align *= 2) {
        void *block = amg_mem_alloc_aligned(align, align + 1);

        assert_non_null(block);
        assert_int_equal((uintptr_t)block % align, 0);
        amg_mem_free(block);
    }
}

static void test_mem_realloc_keeps_bytes_and_counts(void **state)
{
    struct amg_mem_stats before = stats_now();
    char *block = amg_mem_realloc(NULL, 8);

    (void)state;
    assert_non_null(block);
    strcpy(block, "amalgam");
    block = amg_mem_realloc(block, (size_t)100 * LEN);
    assert_non_null(block);
    assert_string_equal(block, "amalgam");
    assert_int_equal(stats_now().live, before.live + 1);
    amg_mem_fail_nth(1);
    assert_null(amg_mem_realloc(block, (size_t)200 * LEN));
    assert_string_equal(block, "amalgam");
    amg_mem_free(block);
    assert_int_equal(stats_now().bytes, before.bytes);
}

static void test_mem_strdup_copies(void **state)
{
    char text[] = "a text";
    char *copy = amg_mem_strdup(text);

    (void)state;
    assert_non_null(copy);
    text[0] = 'b';
    assert_string_equal(copy, "a text");
    amg_mem_free(copy);
}

static void test_mem_fail_nth_fails_once(void **state)
{
    void *blocks[3];

    (void)state;
    amg_mem_fail_nth(2);
    blocks[0] = amg_mem_alloc(LEN);
    blocks[1] = amg_mem_zalloc(LEN);
    blocks[2] = amg_mem_alloc(LEN);
    assert_non_null(blocks[0]);
    assert_null(blocks[1]);
    assert_non_null(blocks[2]);
    amg_mem_fail_nth(1);
    amg_mem_fail_nth(0);
    blocks[1] = amg_mem_strdup("x");
    assert_non_null(blocks[1]);
    for (int i = 0; i < 3; i++)
        amg_mem_free(blocks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mem_alloc_free_counts),
        cmocka_unit_test(test_mem_zalloc_is_zero),
        cmocka_unit_test(test_mem_alloc_aligned_is_aligned),
        cmocka_unit_test(test_mem_realloc_keeps_bytes_and_counts),
        cmocka_unit_test(test_mem_strdup_copies),
        cmocka_unit_test(test_mem_fail_nth_fails_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
