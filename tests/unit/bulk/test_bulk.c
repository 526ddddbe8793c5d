/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets find their segments, also among empty ones; handles of the library
 * are not counted as the user's. */
#include "bulk/bulk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "mercury_class.h"

enum { COUNT = 6, LEN = 10 };

static hg_class_t *cls;
static char block[LEN + 1] = "0123456789";
static const hg_size_t lens[COUNT] = {0, 3, 0, 0, 7, 0};

static int class_setup(void **state)
{
    (void)state;
    cls = HG_Init("self", HG_TRUE);
    return cls == NULL;
}

static int class_teardown(void **state)
{
    (void)state;
    return HG_Finalize(cls) != HG_SUCCESS;
}

static hg_bulk_t bulk_make(void)
{
    void *ptrs[COUNT] = {NULL, block, NULL, NULL, block + 3, NULL};
    hg_bulk_t bulk = HG_BULK_NULL;

    assert_int_equal(
        HG_Bulk_create(cls, COUNT, ptrs, lens, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    return bulk;
}

static void test_bulk_offsets_find_their_segment(void **state)
{
    hg_bulk_t bulk = bulk_make();
    uint64_t into = 0;

    (void)state;
    for (uint64_t offset = 0; offset < LEN; offset++) {
        uint32_t segment = amg_bulk_find(bulk, offset, &into);

        assert_int_equal(segment, offset < 3 ? 1 : 4);
        assert_int_equal(into, offset < 3 ? offset : offset - 3);
    }
    assert_int_equal(amg_bulk_find(bulk, LEN, &into), COUNT - 1);
    assert_int_equal(into, 0);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

/* Enough segments that offsets are looked up in the index, many empty. */
static void test_bulk_offsets_find_their_segment_among_many(void **state)
{
    enum { MANY = 1000 };
    static char bytes[MANY];
    void *ptrs[MANY];
    hg_size_t sizes[MANY];
    hg_bulk_t bulk = HG_BULK_NULL;
    uint64_t into = 0;
    uint64_t offset = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        ptrs[i] = bytes;
        sizes[i] = (hg_size_t)(i % 7 == 3 || (i > 300 && i < 500) ? 0 : i % 5);
    }
    assert_int_equal(
        HG_Bulk_create(cls, MANY, ptrs, sizes, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    for (uint32_t i = 0; i < MANY; i++)
        for (uint64_t k = 0; k < sizes[i]; k++, offset++) {
            assert_int_equal(amg_bulk_find(bulk, offset, &into), i);
            assert_int_equal(into, k);
        }
    assert_int_equal(offset, HG_Bulk_get_size(bulk));
    assert_int_equal(amg_bulk_find(bulk, offset, &into), MANY - 1);
    assert_int_equal(into, sizes[MANY - 1]);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static void test_bulk_of_users_is_counted(void **state)
{
    hg_bulk_t bulk = bulk_make();
    struct hg_bulk *inner = NULL;

    (void)state;
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_BULKS), 1);
    assert_int_equal(amg_bulk_make_owning(cls, amg_mem_alloc(LEN), LEN,
                         HG_BULK_WRITE_ONLY, &inner),
        HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_BULKS), 1);
    assert_int_equal(amg_bulk_unref(inner), HG_SUCCESS);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_BULKS), 0);
}

static void test_bulk_is_registered_once_and_late(void **state)
{
    hg_bulk_t bulk = bulk_make();
    struct amg_mem *mem = NULL;

    (void)state;
    assert_false(bulk->is_registered);
    assert_int_equal(amg_bulk_register(bulk), HG_SUCCESS);
    mem = bulk->mems[AMG_ROUTE_SELF];
    assert_non_null(mem);
    assert_true(bulk->keys[AMG_ROUTE_SELF].len > 0);
    assert_int_equal(amg_bulk_register(bulk), HG_SUCCESS);
    assert_ptr_equal(bulk->mems[AMG_ROUTE_SELF], mem);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static hg_return_t unreg_busy(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms)
{
    (void)domain;
    (void)mem;
    (void)timeout_ms;
    return HG_BUSY;
}

/* The user has freed its handle; the library holds the last reference. */
static void test_bulk_left_to_a_silent_peer_is_not_counted(void **state)
{
    hg_bulk_t bulk = bulk_make();
    struct amg_transport busy;
    struct amg_mem *mem = NULL;

    (void)state;
    assert_int_equal(amg_bulk_register(bulk), HG_SUCCESS);
    mem = bulk->mems[AMG_ROUTE_SELF];
    busy = *mem->transport;
    busy.bulk.unreg = unreg_busy;
    mem->transport = &busy;
    amg_bulk_ref(bulk);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_BULKS), 1);
    amg_bulk_leave(bulk);
    assert_int_equal(amg_class_counted(cls, AMG_CLASS_BULKS), 0);
    /* The memory is still registered: the peer may use it. */
    mem->transport = cls->domains[AMG_ROUTE_SELF]->transport;
    assert_int_equal(amg_bulk_unref(bulk), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bulk_offsets_find_their_segment),
        cmocka_unit_test(test_bulk_offsets_find_their_segment_among_many),
        cmocka_unit_test(test_bulk_of_users_is_counted),
        cmocka_unit_test(test_bulk_is_registered_once_and_late),
        cmocka_unit_test(test_bulk_left_to_a_silent_peer_is_not_counted),
    };

    return cmocka_run_group_tests(tests, class_setup, class_teardown);
}
