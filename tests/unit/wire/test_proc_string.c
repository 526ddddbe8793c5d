/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and string objects in the stream, also with false lengths. */
#include "mercury_proc_string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/proc.h"

static uint64_t live_blocks(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static void test_string_costs_length_and_eleven(void **state)
{
    char buf[64];
    hg_string_t s = (char *)"hello", back = NULL;
    uint64_t len = 0;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &s), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), 8 + 5 + 1 + 2);
    memcpy(&len, buf, sizeof(len));
    assert_int_equal(len, 6);
    assert_memory_equal(buf + 8, "hello\0\0\0", 8);
    amg_proc_init(&proc, NULL, buf, 16, HG_DECODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_SUCCESS);
    assert_string_equal(back, "hello");
    assert_int_equal(hg_proc_get_size_left(&proc), 0);
    amg_proc_init(&proc, NULL, NULL, 0, HG_FREE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_SUCCESS);
    assert_null(back);
}

static void test_string_const_says_so_on_the_wire(void **state)
{
    char buf[64];
    hg_const_string_t s = "ab", back = NULL;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_const_string_t(&proc, &s), HG_SUCCESS);
    assert_memory_equal(buf + 8, "ab\0\1\0", 5);
    amg_proc_init(&proc, NULL, buf, 13, HG_DECODE);
    assert_int_equal(hg_proc_hg_const_string_t(&proc, &back), HG_SUCCESS);
    assert_string_equal(back, "ab");
    amg_proc_init(&proc, NULL, NULL, 0, HG_FREE);
    assert_int_equal(hg_proc_hg_const_string_t(&proc, &back), HG_SUCCESS);
    assert_null(back);
}

static void test_string_null_is_eight_bytes(void **state)
{
    char buf[16];
    hg_string_t s = NULL, back = buf;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &s), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), 8);
    amg_proc_init(&proc, NULL, buf, 8, HG_DECODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_SUCCESS);
    assert_null(back);
    amg_proc_init(&proc, NULL, NULL, 0, HG_FREE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_SUCCESS);
}

/* A message of `size` bytes that claims a string of `claimed` bytes. */
static void check_lie(uint64_t claimed, size_t size)
{
    char *buf = malloc(size > 0 ? size : 1);
    uint64_t live = live_blocks();
    char mark = 'x';
    char *back = &mark;
    struct hg_proc proc;

    memset(buf, 'z', size);
    memcpy(buf, &claimed, size < 8 ? size : 8);
    amg_proc_init(&proc, NULL, buf, size, HG_DECODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_OVERFLOW);
    assert_ptr_equal(back, &mark);
    assert_int_equal(live_blocks(), live);
    free(buf);
}

static void test_string_wrong_length_is_overflow(void **state)
{
    (void)state;
    check_lie(0, 0);
    check_lie(0, 7);
    check_lie(1, 8);
    check_lie(1, 9);
    check_lie(1, 10);
    check_lie(7, 14);
    check_lie(UINT64_MAX, 20);
    check_lie(1ull << 40, 20);
}

static void test_string_without_nul_gets_one(void **state)
{
    char buf[14];
    uint64_t len = 4;
    char *back = NULL;
    struct hg_proc proc;

    (void)state;
    memcpy(buf, &len, sizeof(len));
    memcpy(buf + 8, "wxyz\377\377", 6);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_SUCCESS);
    assert_string_equal(back, "wxy");
    amg_mem_free(back);
}

static void test_string_no_memory_is_reported(void **state)
{
    char buf[32];
    hg_string_t s = (char *)"abc", back = NULL;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_string_t(&proc, &s), HG_SUCCESS);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_proc_hg_string_t(&proc, &back), HG_NOMEM);
    assert_null(back);
    amg_proc_init(&proc, NULL, buf, 10, HG_ENCODE);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_proc_hg_string_t(&proc, &s), HG_NOMEM);
    amg_mem_fail_nth(0);
    amg_proc_fini(&proc);
}

static void test_string_misuse_is_refused(void **state)
{
    char buf[8];
    hg_string_t s = NULL;
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_string_t(NULL, &s), HG_INVALID_ARG);
    assert_int_equal(hg_proc_hg_string_t(&proc, NULL), HG_INVALID_ARG);
    assert_int_equal(hg_proc_hg_const_string_t(&proc, NULL), HG_INVALID_ARG);
    assert_int_equal(hg_proc_hg_string_object_t(&proc, NULL), HG_INVALID_ARG);
    assert_int_equal(hg_string_object_init(NULL), HG_INVALID_ARG);
    assert_int_equal(hg_string_object_free(NULL), HG_INVALID_ARG);
    assert_null(hg_string_object_swap(NULL, NULL));
}

static void test_string_object_owner_is_decided_here(void **state)
{
    char buf[32];
    hg_string_object_t object, back;
    struct hg_proc proc;

    (void)state;
    assert_int_equal(hg_string_object_init_const_char(&object, "abc", 0), 0);
    assert_true(object.is_const && !object.is_owned);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_hg_string_object_t(&proc, &object), HG_SUCCESS);
    buf[12] = 77; /* neither 0 nor 1 */
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_hg_string_object_t(&proc, &back), HG_SUCCESS);
    assert_string_equal(back.data, "abc");
    assert_int_equal(back.is_const, 1);
    assert_int_equal(back.is_owned, 1);
    amg_proc_init(&proc, NULL, NULL, 0, HG_FREE);
    assert_int_equal(hg_proc_hg_string_object_t(&proc, &back), HG_SUCCESS);
    assert_null(back.data);
}

static void test_string_object_dup_and_swap_part_owners(void **state)
{
    char text[] = "text";
    char *before = NULL;
    hg_string_object_t object, copy;

    (void)state;
    assert_int_equal(hg_string_object_init(&copy), HG_SUCCESS);
    assert_null(copy.data);
    assert_int_equal(
        hg_string_object_init_char(&object, text, HG_FALSE), HG_SUCCESS);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_string_object_dup(object, &copy), HG_NOMEM);
    assert_int_equal(hg_string_object_dup(object, &copy), HG_SUCCESS);
    assert_string_equal(copy.data, text);
    assert_ptr_not_equal(copy.data, text);
    before = hg_string_object_swap(&copy, text);
    assert_string_equal(before, "text");
    assert_ptr_equal(copy.data, text);
    assert_int_equal(copy.is_owned, HG_FALSE);
    amg_mem_free(before);
    assert_int_equal(hg_string_object_free(&copy), HG_SUCCESS);
    assert_int_equal(hg_string_object_free(&object), HG_SUCCESS);
    assert_null(object.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_costs_length_and_eleven),
        cmocka_unit_test(test_string_const_says_so_on_the_wire),
        cmocka_unit_test(test_string_null_is_eight_bytes),
        cmocka_unit_test(test_string_wrong_length_is_overflow),
        cmocka_unit_test(test_string_without_nul_gets_one),
        cmocka_unit_test(test_string_no_memory_is_reported),
        cmocka_unit_test(test_string_misuse_is_refused),
        cmocka_unit_test(test_string_object_owner_is_decided_here),
        cmocka_unit_test(test_string_object_dup_and_swap_part_owners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
