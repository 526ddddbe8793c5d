/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handles of datatypes expose the right memory, also by absolute addresses
 * and beyond 2^31 elements; a failed allocation creates none. */
#include "amalgam.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "core/class.h"

enum { PIECES = 8 };

static hg_class_t *cls;
static char block[256];
static void *ptrs[PIECES];
static hg_size_t sizes[PIECES];

static int class_setup(void **state)
{
    (void)state;
    cls = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    return cls == NULL;
}

static int class_teardown(void **state)
{
    (void)state;
    return amalgam_finalize(cls) != HG_SUCCESS;
}

/* Commits the type, exposes one element, frees it; returns its segment count.
 */
static uint32_t expose(void *buf, MPI_Datatype type, hg_bulk_t *ret_bulk)
{
    uint32_t count = 0;

    MPI_Type_commit(&type);
    assert_int_equal(amalgam_bulk_create_type(
                         cls, buf, 1, type, HG_BULK_READWRITE, ret_bulk),
        HG_SUCCESS);
    MPI_Type_free(&type);
    assert_int_equal(HG_Bulk_access(*ret_bulk, 0, HG_Bulk_get_size(*ret_bulk),
                         HG_BULK_READ_ONLY, PIECES, ptrs, sizes, &count),
        HG_SUCCESS);
    return count;
}

static void test_datatype_shows_its_memory(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    (void)state;
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    assert_int_equal(expose(block, type, &bulk), 3);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(ptrs[i], block + 16 * (ptrdiff_t)i);
        assert_int_equal(sizes[i], 8);
    }
    assert_int_equal(HG_Bulk_get_size(bulk), 24);
    assert_int_equal(HG_Bulk_get_segment_count(bulk), 3);
    assert_int_equal(HG_Bulk_get_flags(bulk), HG_BULK_READWRITE);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static void test_datatype_of_absolute_addresses_needs_no_buffer(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    int blocks[2] = {10, 20};
    MPI_Aint places[2];

    (void)state;
    MPI_Get_address(block + 100, &places[0]);
    MPI_Get_address(block + 5, &places[1]);
    MPI_Type_create_hindexed(2, blocks, places, MPI_BYTE, &type);
    assert_int_equal(expose(MPI_BOTTOM, type, &bulk), 2);
    assert_ptr_equal(ptrs[0], block + 100);
    assert_ptr_equal(ptrs[1], block + 5);
    assert_int_equal(sizes[1], 20);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

/* The type reaches before its buffer, too. */
static void test_datatype_may_reach_before_its_buffer(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    (void)state;
    MPI_Type_create_hvector(3, 1, -50, MPI_SHORT, &type);
    assert_int_equal(expose(block + 150, type, &bulk), 3);
    assert_ptr_equal(ptrs[0], block + 150);
    assert_ptr_equal(ptrs[2], block + 50);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static void test_datatype_may_name_a_byte_twice(void **state)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;

    (void)state;
    MPI_Type_create_hvector(4, 1, 2, MPI_INT, &type);
    assert_int_equal(expose(block, type, &bulk), 4);
    assert_int_equal(HG_Bulk_get_size(bulk), 16);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

/* The memory is never accessed. */
static void test_datatype_count_may_exceed_int(void **state)
{
    const MPI_Count count = (MPI_Count)1 << 40;
    hg_bulk_t bulk = HG_BULK_NULL;

    (void)state;
    assert_int_equal(amalgam_bulk_create_type(cls, block, count, MPI_DOUBLE,
                         HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    assert_int_equal(HG_Bulk_get_size(bulk), (hg_size_t)count * 8);
    assert_int_equal(HG_Bulk_get_segment_count(bulk), 1);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static void test_datatype_without_memory_makes_no_handle(void **state)
{
    int places[6] = {9, 3, 0, 11, 1, 30};
    MPI_Datatype part = MPI_DATATYPE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_return_t rc = HG_NOMEM;
    uint64_t nth = 0;

    (void)state;
    MPI_Type_vector(2, 1, 3, MPI_CHAR, &part);
    MPI_Type_create_indexed_block(6, 1, places, part, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&part);
    while (rc != HG_SUCCESS) {
        struct amg_mem_stats before;
        struct amg_mem_stats after;

        assert_ptr_equal(bulk, HG_BULK_NULL);
        amg_mem_stats_get(&before);
        amg_mem_fail_nth(++nth);
        rc = amalgam_bulk_create_type(
            cls, block, 2, type, HG_BULK_READ_ONLY, &bulk);
        amg_mem_fail_nth(0);
        amg_mem_stats_get(&after);
        assert_true(rc == HG_SUCCESS || rc == HG_NOMEM);
        assert_int_equal(after.live, before.live + (rc == HG_SUCCESS ? 1 : 0));
        assert_int_equal(
            amg_class_counted(cls, AMG_CLASS_BULKS), rc == HG_SUCCESS ? 1 : 0);
    }
    assert_true(nth > 4);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_datatype_shows_its_memory),
        cmocka_unit_test(test_datatype_of_absolute_addresses_needs_no_buffer),
        cmocka_unit_test(test_datatype_may_reach_before_its_buffer),
        cmocka_unit_test(test_datatype_may_name_a_byte_twice),
        cmocka_unit_test(test_datatype_count_may_exceed_int),
        cmocka_unit_test(test_datatype_without_memory_makes_no_handle),
    };
    int failed = 0;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, class_setup, class_teardown);
    MPI_Finalize();
    return failed;
}
