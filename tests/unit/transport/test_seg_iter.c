/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterator over lists of segments: adjacent segments are joined, empty ones
 * skipped, and no byte is taken beyond the end. */
#include "transport/seg_iter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 4096, SEGMENTS = 64, ROUNDS = 2000 };

static unsigned char memory[LEN];
static unsigned char other[LEN];

static void test_seg_iter_joins_adjacent_segments(void **state)
{
    const struct amg_segment list[] = {{memory, 10}, {NULL, 0},
        {memory + 10, 5}, {memory + 20, 7}, {memory + 27, 0}};
    struct amg_seg_iter at = {list, 5, 0, 3};
    void *from = NULL;

    (void)state;
    assert_int_equal(amg_seg_iter_runs(&at, 19, 9), 2);
    assert_int_equal(amg_seg_iter_take(&at, 100, &from), 12);
    assert_ptr_equal(from, memory + 3);
    assert_int_equal(amg_seg_iter_take(&at, 3, &from), 3);
    assert_ptr_equal(from, memory + 20);
    assert_int_equal(amg_seg_iter_take(&at, 100, &from), 4);
    assert_int_equal(amg_seg_iter_take(&at, 100, &from), 0);
}

static void test_seg_iter_counts_the_bytes_left(void **state)
{
    const struct amg_segment list[] = {
        {memory, UINT64_MAX / 2}, {memory, UINT64_MAX / 2}, {memory, 100}};
    struct amg_seg_iter at = {list, 3, 0, 1};
    struct amg_seg_iter beyond = {list, 3, 3, 0};

    (void)state;
    assert_int_equal(amg_seg_iter_left(&at, 50), 50);
    assert_int_equal(amg_seg_iter_left(&at, UINT64_MAX), UINT64_MAX);
    assert_int_equal(amg_seg_iter_left(&beyond, 10), 0);
    at = (struct amg_seg_iter){list, 3, 2, 101};
    assert_int_equal(amg_seg_iter_left(&at, 10), 0);
    assert_true(
        amg_seg_iter_is_whole(&(struct amg_seg_iter){list, 3, 2, 1}, 99));
    assert_false(
        amg_seg_iter_is_whole(&(struct amg_seg_iter){list, 3, 2, 2}, 99));
}

/* Cuts `LEN` bytes of `base` into segments, some empty, in a random order. */
static uint32_t cut(struct amg_segment *list, unsigned char *base)
{
    uint32_t count = 0;
    uint64_t at = 0;

    while (count + 1 < SEGMENTS && at < LEN) {
        uint64_t len = (uint64_t)rand() % 200;

        len = len < LEN - at ? len : LEN - at;
        list[count++] = (struct amg_segment){base + at, len};
        at += len;
    }
    list[count++] = (struct amg_segment){base + at, LEN - at};
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rand() % 3 == 0 ? (uint32_t)rand() % i : i;
        struct amg_segment kept = list[i];

        list[i] = list[j];
        list[j] = kept;
    }
    return count;
}

/* The byte at `offset` from the start of the list. */
static unsigned char *byte_of(
    const struct amg_segment *list, uint32_t count, uint64_t offset)
{
    for (uint32_t i = 0; i < count; i++) {
        if (offset < list[i].len)
            return (unsigned char *)list[i].base + offset;
        offset -= list[i].len;
    }
    return NULL;
}

static void test_seg_iter_has_only_the_bytes_of_the_list(void **state)
{
    const struct amg_segment list[] = {{memory, 10}, {NULL, 0}, {memory, 5}};

    (void)state;
    assert_true(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 0, 0}, 15));
    assert_false(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 0, 0}, 16));
    assert_true(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 0, 10}, 5));
    assert_false(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 0, 11}, 1));
    assert_true(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 2, 4}, 1));
    assert_false(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 2, 5}, 1));
    assert_false(amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 3, 0}, 1));
    assert_false(
        amg_seg_iter_has(&(struct amg_seg_iter){list, 3, 0, 9}, UINT64_MAX));
    assert_false(amg_seg_iter_has(&(struct amg_seg_iter){NULL, 0, 0, 0}, 1));
}

static void test_seg_iter_moves_the_right_bytes(void **state)
{
    (void)state;
    srand(7);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct amg_segment from[SEGMENTS];
        struct amg_segment to[SEGMENTS];
        uint32_t from_count = cut(from, memory);
        uint32_t to_count = cut(to, other);
        uint64_t from_at = (uint64_t)rand() % LEN;
        uint64_t to_at = (uint64_t)rand() % LEN;
        uint64_t most = LEN - (from_at > to_at ? from_at : to_at);
        uint64_t len = (uint64_t)rand() % (most + 1);
        struct amg_seg_iter from_place = {from, from_count, 0, from_at};
        struct amg_seg_iter to_place = {to, to_count, 0, to_at};
        unsigned char packed[LEN];

        for (unsigned i = 0; i < LEN; i++)
            memory[i] = (unsigned char)rand();
        memset(other, 0, LEN);
        if (round % 2 == 0) {
            amg_seg_iter_copy(&to_place, &from_place, len);
        } else {
            amg_seg_iter_gather(packed, &from_place, len);
            amg_seg_iter_scatter(&to_place, packed, len);
        }
        for (uint64_t i = 0; i < len; i++)
            assert_int_equal(*byte_of(to, to_count, to_at + i),
                *byte_of(from, from_count, from_at + i));
        assert_int_equal(
            amg_seg_iter_left(&from_place, LEN), LEN - from_at - len);
    }
}

static void test_seg_iter_skips(void **state)
{
    const struct amg_segment list[] = {{memory, 3}, {memory + 8, 3}};
    struct amg_seg_iter at = {list, 2, 0, 0};

    (void)state;
    amg_seg_iter_skip(&at, 4);
    assert_int_equal(amg_seg_iter_left(&at, 10), 2);
    amg_seg_iter_skip(&at, 100);
    assert_int_equal(amg_seg_iter_left(&at, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seg_iter_joins_adjacent_segments),
        cmocka_unit_test(test_seg_iter_counts_the_bytes_left),
        cmocka_unit_test(test_seg_iter_has_only_the_bytes_of_the_list),
        cmocka_unit_test(test_seg_iter_moves_the_right_bytes),
        cmocka_unit_test(test_seg_iter_skips),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
