/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs written by hand with HG_PROC_*: whole, in steps, and failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mercury_proc.h"

enum { BUF_LEN = 32 };

struct pair {
    int32_t number;
    char bytes[3];
};

static hg_return_t pair_proc(hg_proc_t proc, void *arg)
{
    struct pair *pair = arg;
    hg_return_t ret = HG_SUCCESS;

    HG_PROC_TYPE(proc, int32_t, &pair->number, done, ret);
    HG_PROC_BYTES(proc, pair->bytes, sizeof(pair->bytes), done, ret);
done:
    return ret;
}

static hg_return_t pair_proc_in_steps(hg_proc_t proc, void *arg)
{
    struct pair *pair = arg;
    hg_return_t ret = HG_SUCCESS;

    HG_PROC_CHECK_SIZE(proc, sizeof(int32_t), done, ret);
    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        HG_PROC_TYPE_ENCODE(proc, int32_t, &pair->number);
        break;
    case HG_DECODE:
        HG_PROC_TYPE_DECODE(proc, int32_t, &pair->number);
        break;
    default:
        goto done;
    }
    HG_PROC_UPDATE(proc, sizeof(int32_t));
    HG_PROC_CHECKSUM_UPDATE(proc, &pair->number, sizeof(int32_t));
    HG_PROC_CHECK_SIZE(proc, sizeof(pair->bytes), done, ret);
    if (hg_proc_get_op(proc) == HG_ENCODE)
        HG_PROC_BYTES_ENCODE(proc, pair->bytes, sizeof(pair->bytes));
    else
        HG_PROC_BYTES_DECODE(proc, pair->bytes, sizeof(pair->bytes));
    HG_PROC_UPDATE(proc, sizeof(pair->bytes));
    HG_PROC_CHECKSUM_UPDATE(proc, pair->bytes, sizeof(pair->bytes));
done:
    return ret;
}

static const hg_proc_cb_t both[] = {pair_proc, pair_proc_in_steps};

static hg_proc_t proc_make(void *buf, hg_size_t len, hg_proc_op_t op)
{
    hg_proc_t proc = HG_PROC_NULL;

    assert_int_equal(
        hg_proc_create_set(NULL, buf, len, op, HG_CRC32, &proc), HG_SUCCESS);
    return proc;
}

static void test_proc_macros_code_the_same_either_way(void **state)
{
    char bufs[2][BUF_LEN] = {{0}};
    uint32_t sums[4];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair = {-7, "ab"}, back = {0, ""};
        hg_proc_t proc = proc_make(bufs[i], BUF_LEN, HG_ENCODE);

        assert_int_equal(both[i](proc, &pair), HG_SUCCESS);
        assert_int_equal(hg_proc_get_size_used(proc), 7);
        assert_int_equal(hg_proc_flush(proc), HG_SUCCESS);
        assert_int_equal(hg_proc_checksum_get(proc, &sums[i], 4), HG_SUCCESS);
        assert_int_equal(
            hg_proc_reset(proc, bufs[i], 7, HG_DECODE), HG_SUCCESS);
        assert_int_equal(both[1 - i](proc, &back), HG_SUCCESS);
        assert_int_equal(
            hg_proc_checksum_get(proc, &sums[2 + i], 4), HG_SUCCESS);
        assert_int_equal(back.number, -7);
        assert_string_equal(back.bytes, "ab");
        hg_proc_free(proc);
    }
    assert_memory_equal(bufs[0], bufs[1], BUF_LEN);
    for (int i = 1; i < 4; i++)
        assert_int_equal(sums[i], sums[0]);
}

static void test_proc_macros_grow_when_encoding(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair = {5, "xy"};
        char buf[5];
        hg_proc_t proc = proc_make(buf, sizeof(buf), HG_ENCODE);

        assert_int_equal(both[i](proc, &pair), HG_SUCCESS);
        assert_non_null(hg_proc_get_extra_buf(proc));
        assert_int_equal(hg_proc_get_size_used(proc), 7);
        assert_string_equal((char *)hg_proc_get_extra_buf(proc) + 4, "xy");
        hg_proc_free(proc);
    }
}

static void test_proc_macros_jump_when_bytes_are_missing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair back = {0, "--"};
        char buf[5] = {1, 0, 0, 0, 2};
        hg_proc_t proc = proc_make(buf, sizeof(buf), HG_DECODE);

        assert_int_equal(both[i](proc, &back), HG_OVERFLOW);
        assert_string_equal(back.bytes, "--");
        assert_int_equal(hg_proc_get_size_used(proc), 4);
        hg_proc_free(proc);
    }
}

static void test_proc_macros_free_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pair pair = {5, "xy"};
        hg_proc_t proc = proc_make(NULL, 0, HG_FREE);

        assert_int_equal(both[i](proc, &pair), HG_SUCCESS);
        assert_int_equal(pair.number, 5);
        hg_proc_free(proc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proc_macros_code_the_same_either_way),
        cmocka_unit_test(test_proc_macros_grow_when_encoding),
        cmocka_unit_test(test_proc_macros_jump_when_bytes_are_missing),
        cmocka_unit_test(test_proc_macros_free_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
