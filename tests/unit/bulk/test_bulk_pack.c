/* SPDX-License-Identifier: BSD-3-Clause */
/* A packed descriptor has the layout of its table, unpacks to the same values,
 * and is refused when it is truncated or its numbers are too large. */
#include "bulk/bulk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "mercury_bulk.h"
#include "mercury_class.h"
#include "mercury_context.h"

enum { COUNT = 3, LEN = 12, CAP = 512 };

static hg_class_t *cls;
static hg_context_t *context;
static char block[LEN] = "hello, wire";

static int context_setup(void **state)
{
    (void)state;
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    return context == NULL;
}

static int context_teardown(void **state)
{
    (void)state;
    return HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(cls) != HG_SUCCESS;
}

static hg_bulk_t bulk_make(bool is_bound)
{
    void *ptrs[COUNT] = {block, NULL, block + 5};
    const hg_size_t lens[COUNT] = {5, 0, 7};
    hg_bulk_t bulk = HG_BULK_NULL;

    assert_int_equal(
        HG_Bulk_create(cls, COUNT, ptrs, lens, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    if (is_bound)
        assert_int_equal(HG_Bulk_bind(bulk, context), HG_SUCCESS);
    assert_int_equal(amg_bulk_register(bulk), HG_SUCCESS);
    return bulk;
}

static void test_bulk_pack_layout_is_that_of_the_table(void **state)
{
    hg_bulk_t bulk = bulk_make(false);
    unsigned key_len = bulk->keys[AMG_ROUTE_SELF].len;
    uint8_t bytes[CAP];
    uint64_t number = 0;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(
        amg_bulk_packed_len(bulk, 0), 8 + COUNT * 16 + 2 + key_len);
    assert_int_equal(amg_bulk_packed_len(bulk, AMG_BULK_PACK_EAGER),
        8 + COUNT * 16 + 2 + key_len + LEN);
    amg_bulk_pack(bulk, AMG_BULK_PACK_EAGER, bytes);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(bytes[1], HG_BULK_READ_ONLY);
    assert_int_equal(bytes[2], 1);
    assert_int_equal(bytes[3], 1);
    memcpy(&count, bytes + 4, sizeof(count));
    assert_int_equal(count, COUNT);
    memcpy(&number, bytes + 8, sizeof(number));
    assert_true(number == (uintptr_t)block);
    memcpy(&number, bytes + 16, sizeof(number));
    assert_int_equal(number, 5);
    assert_int_equal(bytes[8 + COUNT * 16], AMG_ROUTE_SELF);
    assert_int_equal(bytes[8 + COUNT * 16 + 1], key_len);
    assert_memory_equal(bytes + 8 + COUNT * 16 + 2 + key_len, block, LEN);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

static void test_bulk_pack_is_read_as_written(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        unsigned flags = kind % 2 == 0 ? 0 : AMG_BULK_PACK_EAGER;
        hg_bulk_t bulk = bulk_make(kind >= 2);
        struct hg_bulk *read = NULL;
        uint8_t bytes[CAP];
        uint64_t len = amg_bulk_packed_len(bulk, flags);

        assert_true(len <= CAP);
        amg_bulk_pack(bulk, flags, bytes);
        assert_int_equal(
            amg_bulk_unpack(cls, bytes, len, true, &read), HG_SUCCESS);
        assert_false(read->is_local);
        assert_int_equal(read->count, COUNT);
        assert_int_equal(read->len, LEN);
        assert_int_equal(read->flags, HG_BULK_READ_ONLY);
        assert_memory_equal(&read->keys[AMG_ROUTE_SELF],
            &bulk->keys[AMG_ROUTE_SELF], 1 + read->keys[AMG_ROUTE_SELF].len);
        if (kind % 2 == 1)
            assert_memory_equal(read->eager, block, LEN);
        else
            assert_null(read->eager);
        assert_int_equal(read->bound.peer != NULL, kind >= 2);
        /* A received descriptor can be sent on, equal but for its eager data.
         */
        assert_int_equal(
            amg_bulk_packed_len(read, 0), amg_bulk_packed_len(bulk, 0));
        assert_int_equal(amg_bulk_unref(read), HG_SUCCESS);
        assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
    }
}

static void test_bulk_pack_cut_or_greedy_is_refused(void **state)
{
    hg_bulk_t bulk = bulk_make(true);
    struct hg_bulk *read = NULL;
    uint8_t bytes[CAP];
    uint64_t len = amg_bulk_packed_len(bulk, AMG_BULK_PACK_EAGER);
    uint64_t huge = UINT64_MAX;
    uint32_t count = UINT32_MAX;

    (void)state;
    amg_bulk_pack(bulk, AMG_BULK_PACK_EAGER, bytes);
    for (uint64_t cut = 0; cut < len; cut++)
        assert_int_equal(
            amg_bulk_unpack(cls, bytes, cut, true, &read), HG_OVERFLOW);
    memcpy(bytes + 16, &huge, sizeof(huge)); /* sum beyond 64 bits */
    assert_int_equal(
        amg_bulk_unpack(cls, bytes, len, true, &read), HG_PROTOCOL_ERROR);
    memcpy(bytes + 4, &count, sizeof(count));
    assert_int_equal(
        amg_bulk_unpack(cls, bytes, len, true, &read), HG_OVERFLOW);
    count = 0;
    memcpy(bytes + 4, &count, sizeof(count));
    assert_int_equal(
        amg_bulk_unpack(cls, bytes, len, true, &read), HG_PROTOCOL_ERROR);
    assert_null(read);
    assert_int_equal(HG_Bulk_free(bulk), HG_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bulk_pack_layout_is_that_of_the_table),
        cmocka_unit_test(test_bulk_pack_is_read_as_written),
        cmocka_unit_test(test_bulk_pack_cut_or_greedy_is_refused),
    };

    return cmocka_run_group_tests(tests, context_setup, context_teardown);
}
