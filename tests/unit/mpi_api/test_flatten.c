/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes become the fewest segments that cover their bytes, in MPI's packing
 * order. */
#include "mpi_api/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "mpi/random_type.h"

enum { SEEDS = 3000, DEPTH_MAX = 4, SEGMENTS_MAX = 16, NESTED = 5000 };

#define BASE 0x100000u

static struct amg_segment segments[SEGMENTS_MAX];

/* References to types that are not freed; counted by the calls below. */
static int64_t shares;

int MPI_Type_free(MPI_Datatype *type)
{
    shares--;
    return PMPI_Type_free(type);
}

int MPI_Type_get_contents(MPI_Datatype type, int int_max, int addr_max,
    int type_max, int *ints, MPI_Aint *addrs, MPI_Datatype *types)
{
    int err = PMPI_Type_get_contents(
        type, int_max, addr_max, type_max, ints, addrs, types);

    for (int i = 0; i < type_max; i++) {
        int counts[3];
        int combiner = MPI_COMBINER_NAMED;

        MPI_Type_get_envelope(
            types[i], &counts[0], &counts[1], &counts[2], &combiner);
        shares += combiner != MPI_COMBINER_NAMED;
    }
    return err;
}

#if MPI_VERSION >= 4 && !defined(TESTS_MPI_3)
int MPI_Type_get_contents_c(MPI_Datatype type, MPI_Count int_max,
    MPI_Count addr_max, MPI_Count count_max, MPI_Count type_max, int *ints,
    MPI_Aint *addrs, MPI_Count *counts, MPI_Datatype *types)
{
    int err = PMPI_Type_get_contents_c(type, int_max, addr_max, count_max,
        type_max, ints, addrs, counts, types);

    for (MPI_Count i = 0; i < type_max; i++) {
        MPI_Count lens[4];
        int combiner = MPI_COMBINER_NAMED;

        MPI_Type_get_envelope_c(
            types[i], &lens[0], &lens[1], &lens[2], &lens[3], &combiner);
        shares += combiner != MPI_COMBINER_NAMED;
    }
    return err;
}
#endif

/* Commits the type, flattens `count` elements, frees it; returns the segment
 * count. */
static uint64_t flatten(MPI_Datatype type, int64_t count)
{
    struct amg_mpi_api_layout layout;
    uint64_t found = 0;

    MPI_Type_commit(&type);
    amg_mpi_api_layout_init(&layout);
    assert_int_equal(amg_mpi_api_type_flatten(type, &layout), HG_SUCCESS);
    assert_int_equal(amg_mpi_api_layout_repeat(
                         &layout, count, amg_mpi_api_type_extent(type)),
        HG_SUCCESS);
    found = amg_mpi_api_layout_count(&layout);
    if (found <= SEGMENTS_MAX)
        amg_mpi_api_layout_fill(&layout, BASE, segments);
    amg_mpi_api_layout_fini(&layout);
    MPI_Type_free(&type);
    return found;
}

static void expect_segment(int i, int64_t at, uint64_t len)
{
    assert_int_equal((int64_t)(uintptr_t)segments[i].base - BASE, at);
    assert_int_equal(segments[i].len, len);
}

static void test_flatten_dense_types_are_one_segment(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype row = MPI_DATATYPE_NULL;
    int sizes[3] = {7, 8, 9};
    int zeros[3] = {0, 0, 0};

    (void)state;
    MPI_Type_dup(MPI_DOUBLE, &type);
    assert_int_equal(flatten(type, INT64_C(1) << 40), 1);
    expect_segment(0, 0, UINT64_C(1) << 43);
    MPI_Type_vector(100, 3, 3, MPI_INT, &type);
    assert_int_equal(flatten(type, 10), 1);
    expect_segment(0, 0, 12000);
    MPI_Type_contiguous(9, MPI_FLOAT, &row);
    MPI_Type_create_subarray(
        3, sizes, sizes, zeros, MPI_ORDER_FORTRAN, row, &type);
    MPI_Type_free(&row);
    assert_int_equal(flatten(type, 2), 1);
    expect_segment(0, 0, UINT64_C(2) * 7 * 8 * 9 * 36);
}

static void test_flatten_blocks_are_segments(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int blocks[3] = {2, 1, 1};
    int places[3] = {4, 0, 1};

    (void)state;
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &type);
    assert_int_equal(flatten(type, 1), 3);
    expect_segment(0, 0, 16);
    expect_segment(2, 80, 16);
    /* The last block of an element touches the first of the next one. */
    MPI_Type_vector(3, 2, 5, MPI_DOUBLE, &type);
    assert_int_equal(flatten(type, 2), 5);
    expect_segment(2, 80, 32);
    expect_segment(4, 176, 16);
    /* The type map gives the order; adjacent blocks are joined. */
    MPI_Type_indexed(3, blocks, places, MPI_INT, &type);
    assert_int_equal(flatten(type, 1), 2);
    expect_segment(0, 16, 8);
    expect_segment(1, 0, 8);
    MPI_Type_create_hvector(3, 1, -8, MPI_INT, &type);
    assert_int_equal(flatten(type, 1), 3);
    expect_segment(0, 0, 4);
    expect_segment(2, -16, 4);
}

/* By the standard's rules for bounds, an element of the outer type is four of
 * the inner one, each in front of the previous one, and the next element
 * follows behind. */
static void test_flatten_negative_extents_are_kept(void **state)
{
    MPI_Datatype back = MPI_DATATYPE_NULL;
    MPI_Datatype four = MPI_DATATYPE_NULL;

    (void)state;
    MPI_Type_create_resized(MPI_DOUBLE, -10, -18, &back);
    MPI_Type_contiguous(4, back, &four);
    MPI_Type_free(&back);
    assert_int_equal(flatten(four, 2), 8);
    expect_segment(0, 0, 8);
    expect_segment(3, -54, 8);
    expect_segment(4, 36, 8);
    expect_segment(7, -18, 8);
}

static void test_flatten_gaps_of_predefined_types_are_left_out(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    (void)state;
    MPI_Type_dup(MPI_DOUBLE_INT, &type);
    assert_int_equal(flatten(type, 2), 2);
    expect_segment(0, 0, 12);
    expect_segment(1, 16, 12);
    MPI_Type_dup(MPI_SHORT_INT, &type);
    assert_int_equal(flatten(type, 2), 3);
    expect_segment(0, 0, 2);
    expect_segment(1, 4, 6); /* the int, and the short of the next element */
    expect_segment(2, 12, 4);
    MPI_Type_dup(MPI_LONG_DOUBLE_INT, &type);
    assert_int_equal(flatten(type, 1), 1);
    expect_segment(0, 0, 20);
}

static void test_flatten_types_without_bytes_have_no_segments(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    (void)state;
    MPI_Type_contiguous(0, MPI_INT, &type);
    assert_int_equal(flatten(type, 5), 0);
    MPI_Type_vector(4, 0, 3, MPI_INT, &type);
    assert_int_equal(flatten(type, 1), 0);
    MPI_Type_vector(4, 2, 3, MPI_INT, &type);
    assert_int_equal(flatten(type, 0), 0);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &type);
    assert_int_equal(flatten(type, 1), 0);
}

static void test_flatten_releases_all_references(void **state)
{
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_INT};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int blocks[2] = {1, 1};
    MPI_Aint places[2] = {0, 0};
    int64_t before = 0;

    (void)state;
    MPI_Type_create_struct(0, NULL, NULL, NULL, &types[0]);
    MPI_Type_create_struct(2, blocks, places, types, &type);
    before = shares;
    assert_int_equal(flatten(type, 1), 1); /* also frees it */
    assert_int_equal(shares, before - 1);
    MPI_Type_free(&types[0]);
    MPI_Type_vector(3, 1, 2, MPI_INT, &types[0]);
    MPI_Type_contiguous(2, types[0], &type);
    before = shares;
    assert_int_equal(flatten(type, 1), 5);
    assert_int_equal(shares, before - 1);
    MPI_Type_free(&types[0]);
}

/* The last test: after more than 515 types at a time, MPI_Pack() of MPICH 4.0.2
 * packs nothing of a contiguous type that is created later. */
static void test_flatten_any_depth_costs_no_stack(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    (void)state;
    MPI_Type_dup(MPI_CHAR, &type);
    for (int i = 0; i < NESTED; i++) {
        MPI_Datatype types[2] = {type, MPI_CHAR};
        MPI_Datatype deeper = MPI_DATATYPE_NULL;
        int blocks[2] = {1, 1};
        MPI_Aint places[2] = {0, 1 + i};

        MPI_Type_create_struct(2, blocks, places, types, &deeper);
        MPI_Type_free(&type);
        type = deeper;
    }
    assert_int_equal(flatten(type, 1), 1);
    expect_segment(0, 0, 1 + NESTED);
}

static void test_flatten_too_many_segments_are_refused(void **state)
{
    struct amg_mpi_api_layout layout;
    struct amg_mpi_api_layout more;

    (void)state;
    amg_mpi_api_layout_init(&layout);
    amg_mpi_api_layout_init(&more);
    assert_int_equal(amg_mpi_api_layout_add_run(&layout, 0, 8), HG_SUCCESS);
    assert_int_equal(
        amg_mpi_api_layout_repeat(&layout, INT64_C(1) << 32, 16), HG_SUCCESS);
    assert_int_equal(amg_mpi_api_layout_count(&layout), UINT64_MAX);
    assert_int_equal(
        amg_mpi_api_layout_add(&more, &layout, 1, 0, 0), HG_OVERFLOW);
    assert_int_equal(
        amg_mpi_api_layout_repeat(&layout, 2, INT64_C(1) << 40), HG_OVERFLOW);
    amg_mpi_api_layout_fini(&layout);
    amg_mpi_api_layout_fini(&more);
}

static void test_flatten_offsets_beyond_64_bits_are_refused(void **state)
{
    struct amg_mpi_api_layout layout;

    (void)state;
    amg_mpi_api_layout_init(&layout);
    assert_int_equal(amg_mpi_api_layout_add_run(&layout, 8, 8), HG_SUCCESS);
    assert_int_equal(
        amg_mpi_api_layout_shift(&layout, INT64_MAX - 8), HG_INVALID_ARG);
    assert_int_equal(
        amg_mpi_api_layout_repeat(&layout, 3, INT64_MAX / 2), HG_INVALID_ARG);
    assert_int_equal(
        amg_mpi_api_layout_repeat(&layout, INT64_MAX / 4, 0), HG_INVALID_ARG);
    assert_int_equal(
        amg_mpi_api_layout_add_run(&layout, INT64_MAX, 1), HG_INVALID_ARG);
    assert_int_equal(amg_mpi_api_layout_count(&layout), 1);
    amg_mpi_api_layout_fini(&layout);
}

/* Compares with MPI_Pack(), byte by byte; prints the seed if they differ. */
static bool is_as_mpi_says(
    const struct random_type *type, const struct amg_mpi_api_layout *layout)
{
    uint64_t count = amg_mpi_api_layout_count(layout);
    struct amg_segment *all = calloc(count + 1, sizeof(*all));
    int32_t *places = calloc((size_t)type->bytes + 1, sizeof(*places));
    bool is_same = layout->len == type->bytes;
    int32_t byte = 0;

    random_type_places(type, places);
    amg_mpi_api_layout_fill(layout, BASE, all);
    for (uint64_t i = 0; i < count && is_same; i++) {
        int64_t at = (int64_t)(uintptr_t)all[i].base - BASE;

        is_same = i == 0 || (char *)all[i - 1].base + all[i - 1].len !=
                                (char *)all[i].base;
        for (uint64_t k = 0; k < all[i].len && is_same; k++) {
            is_same = byte < type->bytes && places[byte] == at &&
                      at >= layout->low && at < layout->high;
            byte++;
            at++;
        }
    }
    is_same = is_same && byte == type->bytes;
    free(places);
    free(all);
    return is_same;
}

static void test_flatten_random_types_are_as_mpi_packs_them(void **state)
{
    uint64_t bytes = 0;
    uint64_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t numbers = seed;
        struct random_type type;
        struct amg_mpi_api_layout layout;

        random_type_draw(&numbers, DEPTH_MAX, false, &type);
        amg_mpi_api_layout_init(&layout);
        assert_int_equal(
            amg_mpi_api_type_flatten(type.type, &layout), HG_SUCCESS);
        assert_int_equal(amg_mpi_api_layout_repeat(&layout, type.count,
                             amg_mpi_api_type_extent(type.type)),
            HG_SUCCESS);
        if (!is_as_mpi_says(&type, &layout))
            fail_msg("the datatype of seed %llu", (unsigned long long)seed);
        bytes += (uint64_t)type.bytes;
        found += amg_mpi_api_layout_count(&layout);
        amg_mpi_api_layout_fini(&layout);
        random_type_end(&type);
    }
    print_message("%d types: %llu bytes in %llu segments\n", SEEDS,
        (unsigned long long)bytes, (unsigned long long)found);
}

/* Any allocation fails: an error, and nothing leaks. */
static void test_flatten_without_memory_leaves_nothing(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t numbers = seed;
        struct random_type type;
        hg_return_t rc = HG_NOMEM;

        random_type_draw(&numbers, DEPTH_MAX, false, &type);
        for (uint64_t nth = 1; rc != HG_SUCCESS; nth++) {
            struct amg_mpi_api_layout layout;

            amg_mpi_api_layout_init(&layout);
            amg_mem_fail_nth(nth);
            rc = amg_mpi_api_type_flatten(type.type, &layout);
            amg_mem_fail_nth(0);
            assert_true(rc == HG_SUCCESS || rc == HG_NOMEM);
            amg_mpi_api_layout_fini(&layout);
        }
        random_type_end(&type);
    }
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flatten_dense_types_are_one_segment),
        cmocka_unit_test(test_flatten_blocks_are_segments),
        cmocka_unit_test(test_flatten_negative_extents_are_kept),
        cmocka_unit_test(test_flatten_gaps_of_predefined_types_are_left_out),
        cmocka_unit_test(test_flatten_types_without_bytes_have_no_segments),
        cmocka_unit_test(test_flatten_releases_all_references),
        cmocka_unit_test(test_flatten_too_many_segments_are_refused),
        cmocka_unit_test(test_flatten_offsets_beyond_64_bits_are_refused),
        cmocka_unit_test(test_flatten_random_types_are_as_mpi_packs_them),
        cmocka_unit_test(test_flatten_without_memory_leaves_nothing),
        cmocka_unit_test(test_flatten_any_depth_costs_no_stack),
    };
    int failed = 0;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
