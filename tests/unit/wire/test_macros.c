/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros that generate types and procs: one field, many, nested, failing. */
#include "mercury_macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "mercury_proc_string.h"
#include "wire/proc.h"

/* clang-format off */
MERCURY_GEN_PROC(one_t, ((int32_t)(ret)))

MERCURY_GEN_PROC(many_t,
    ((int8_t)(f0))((uint8_t)(f1))((int16_t)(f2))((uint16_t)(f3)) \
    ((int32_t)(f4))((uint32_t)(f5))((int64_t)(f6))((uint64_t)(f7)) \
    ((int8_t)(f8))((uint8_t)(f9))((int16_t)(f10))((uint16_t)(f11)) \
    ((int32_t)(f12))((uint32_t)(f13))((int64_t)(f14))((uint64_t)(f15)) \
    ((int8_t)(f16))((uint8_t)(f17))((int16_t)(f18))((uint16_t)(f19)) \
    ((int32_t)(f20))((uint32_t)(f21))((int64_t)(f22))((uint64_t)(f23)) \
    ((int8_t)(f24))((uint8_t)(f25))((int16_t)(f26))((uint16_t)(f27)) \
    ((int32_t)(f28))((uint32_t)(f29))((int64_t)(f30))((uint64_t)(f31)) \
    ((int8_t)(f32))((uint8_t)(f33))((int16_t)(f34))((uint16_t)(f35)) \
    ((int32_t)(f36))((uint32_t)(f37))((int64_t)(f38))((uint64_t)(f39)) \
    ((int8_t)(f40))((uint8_t)(f41))((int16_t)(f42))((uint16_t)(f43)) \
    ((int32_t)(f44))((uint32_t)(f45))((int64_t)(f46))((uint64_t)(f47)) \
    ((int8_t)(f48))((uint8_t)(f49))((int16_t)(f50))((uint16_t)(f51)) \
    ((int32_t)(f52))((uint32_t)(f53))((int64_t)(f54))((uint64_t)(f55)) \
    ((int8_t)(f56))((uint8_t)(f57))((int16_t)(f58))((uint16_t)(f59)) \
    ((int32_t)(f60))((uint32_t)(f61))((int64_t)(f62))((uint64_t)(f63)))

MERCURY_GEN_PROC(pair_t, ((hg_string_t)(left))((hg_string_t)(right)))

MERCURY_GEN_PROC(nest_t,
    ((hg_string_t)(name))
    ((pair_t)(pair))\
    ((hg_size_t)(size)) ((hg_bool_t)(flag))
    ((hg_string_t)(tail)))

typedef struct point {
    int32_t x;
    char unsent;
    int32_t y;
} point_t;

MERCURY_GEN_STRUCT_PROC(point_t, ((int32_t)(x))((int32_t)(y)))
/* clang-format on */

#define TEXT(...)  TEXT_(__VA_ARGS__)
#define TEXT_(...) #__VA_ARGS__

static uint64_t live_blocks(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static void test_macros_one_field_comes_back(void **state)
{
    char buf[4];
    one_t one = {-5}, back = {0};
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_one_t(&proc, &one), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), 4);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_one_t(&proc, &back), HG_SUCCESS);
    assert_int_equal(back.ret, -5);
}

static void test_macros_64_fields_come_back(void **state)
{
    enum { BYTES = 240 };
    char buf[BYTES];
    many_t many, back;
    struct hg_proc proc;

    (void)state;
    for (size_t i = 0; i < sizeof(many); i++)
        ((unsigned char *)&many)[i] = (unsigned char)(i * 7 + 1);
    memset(&back, 0, sizeof(back));
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_many_t(&proc, &many), HG_SUCCESS);
    assert_int_equal(hg_proc_get_size_used(&proc), BYTES);
    assert_null(hg_proc_get_extra_buf(&proc));
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_many_t(&proc, &back), HG_SUCCESS);
    assert_true(back.f0 == many.f0 && back.f7 == many.f7);
    assert_true(back.f31 == many.f31 && back.f32 == many.f32);
    assert_true(back.f62 == many.f62 && back.f63 == many.f63);
}

static void test_macros_struct_of_the_program_is_coded(void **state)
{
    char buf[8];
    point_t point = {3, 'u', -4}, back = {0, 'v', 0};
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    assert_int_equal(hg_proc_point_t(&proc, &point), HG_SUCCESS);
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_DECODE);
    assert_int_equal(hg_proc_point_t(&proc, &back), HG_SUCCESS);
    assert_true(back.x == 3 && back.y == -4 && back.unsent == 'v');
}

/* Encodes a nested struct; returns its length. */
static size_t nest_encode(char *buf, size_t size)
{
    nest_t nest = {
        (char *)"name", {(char *)"l", NULL}, 12, HG_TRUE, (char *)"tail"};
    struct hg_proc proc;

    amg_proc_init(&proc, NULL, buf, size, HG_ENCODE);
    assert_int_equal(hg_proc_nest_t(&proc, &nest), HG_SUCCESS);
    assert_null(hg_proc_get_extra_buf(&proc));
    return hg_proc_get_size_used(&proc);
}

static void test_macros_nested_struct_comes_back(void **state)
{
    char buf[128];
    size_t len = nest_encode(buf, sizeof(buf));
    uint64_t live = live_blocks();
    nest_t back;
    struct hg_proc proc;

    (void)state;
    assert_int_equal(len, (8 + 5 + 2) + (8 + 2 + 2) + 8 + 8 + 1 + (8 + 5 + 2));
    amg_proc_init(&proc, NULL, buf, len, HG_DECODE);
    assert_int_equal(hg_proc_nest_t(&proc, &back), HG_SUCCESS);
    assert_string_equal(back.name, "name");
    assert_string_equal(back.pair.left, "l");
    assert_null(back.pair.right);
    assert_int_equal(back.size, 12);
    assert_int_equal(back.flag, HG_TRUE);
    assert_string_equal(back.tail, "tail");
    amg_proc_init(&proc, NULL, NULL, 0, HG_FREE);
    assert_int_equal(hg_proc_nest_t(&proc, &back), HG_SUCCESS);
    assert_int_equal(live_blocks(), live);
}

static void test_macros_truncated_input_leaves_nothing(void **state)
{
    char buf[128];
    size_t len = nest_encode(buf, sizeof(buf));
    uint64_t live = live_blocks();

    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        char *copy = malloc(cut > 0 ? cut : 1);
        struct hg_proc proc;
        nest_t back;

        memcpy(copy, buf, cut);
        memset(&back, 0xee, sizeof(back));
        amg_proc_init(&proc, NULL, copy, cut, HG_DECODE);
        assert_int_equal(hg_proc_nest_t(&proc, &back), HG_OVERFLOW);
        assert_int_equal(live_blocks(), live);
        free(copy);
    }
}

static void test_macros_nth_allocation_fails_leaves_nothing(void **state)
{
    char buf[128];
    size_t len = nest_encode(buf, sizeof(buf));
    uint64_t live = live_blocks();

    (void)state;
    for (uint64_t n = 1; n <= 3; n++) {
        struct hg_proc proc;
        nest_t back;

        memset(&back, 0xee, sizeof(back));
        amg_proc_init(&proc, NULL, buf, len, HG_DECODE);
        amg_mem_fail_nth(n);
        assert_int_equal(hg_proc_nest_t(&proc, &back), HG_NOMEM);
        assert_int_equal(live_blocks(), live);
    }
    amg_mem_fail_nth(0);
}

static void test_macros_failing_encode_frees_no_argument(void **state)
{
    char buf[4];
    char left[] = "left", right[] = "right";
    pair_t pair = {left, right};
    struct hg_proc proc;

    (void)state;
    amg_proc_init(&proc, NULL, buf, sizeof(buf), HG_ENCODE);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_proc_pair_t(&proc, &pair), HG_NOMEM);
    assert_ptr_equal(pair.left, left);
    assert_string_equal(left, "left");
    amg_proc_fini(&proc);
}

static void test_macros_register_names_procs(void **state)
{
    (void)state;
    assert_string_equal(TEXT(MERCURY_REGISTER(c, "n", one_t, pair_t, cb)),
        "HG_Register_name(c, \"n\", hg_proc_one_t, hg_proc_pair_t, cb)");
    assert_string_equal(TEXT(MERCURY_REGISTER(c, "n", void, void, cb)),
        "HG_Register_name(c, \"n\", " TEXT(NULL) ", " TEXT(NULL) ", cb)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros_one_field_comes_back),
        cmocka_unit_test(test_macros_64_fields_come_back),
        cmocka_unit_test(test_macros_struct_of_the_program_is_coded),
        cmocka_unit_test(test_macros_nested_struct_comes_back),
        cmocka_unit_test(test_macros_truncated_input_leaves_nothing),
        cmocka_unit_test(test_macros_nth_allocation_fails_leaves_nothing),
        cmocka_unit_test(test_macros_failing_encode_frees_no_argument),
        cmocka_unit_test(test_macros_register_names_procs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
