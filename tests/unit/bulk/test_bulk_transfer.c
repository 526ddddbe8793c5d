/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer is checked before it starts, references its handles, completes
 * once, and moves no data if it is cancelled before its start. */
#include "bulk/bulk_transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "core/progress.h"
#include "mercury_class.h"
#include "mercury_context.h"

enum { COUNT = 100, PIECE = 7, LEN = COUNT * PIECE };

static hg_class_t *cls;
static hg_context_t *context;
static struct hg_addr self;
static hg_bulk_t origin;
static hg_bulk_t local;
static char from[LEN];
static char to[LEN];
static unsigned told;

static int context_setup(void **state)
{
    hg_size_t lens[COUNT];
    void *ptrs[COUNT];
    void *ptr = to;
    const hg_size_t len = LEN;

    (void)state;
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL)
        return 1;
    amg_addr_init_self(cls, &self);
    for (unsigned i = 0; i < COUNT; i++) {
        lens[i] = PIECE;
        ptrs[i] = from + (COUNT - 1 - i) * PIECE; /* the last one first */
    }
    return HG_Bulk_create(cls, COUNT, ptrs, lens, HG_BULK_READ_ONLY, &origin) !=
               HG_SUCCESS ||
           HG_Bulk_create(cls, 1, &ptr, &len, HG_BULK_WRITE_ONLY, &local) !=
               HG_SUCCESS;
}

static int context_teardown(void **state)
{
    (void)state;
    amg_addr_fini(&self);
    return HG_Bulk_free(origin) != HG_SUCCESS ||
           HG_Bulk_free(local) != HG_SUCCESS ||
           HG_Context_destroy(context) != HG_SUCCESS ||
           HG_Finalize(cls) != HG_SUCCESS;
}

static struct amg_transfer_plan plan_make(void)
{
    return (struct amg_transfer_plan){
        .context = context,
        .op = HG_BULK_PULL,
        .origin_addr = &self,
        .origin = origin,
        .local = local,
        .len = LEN,
    };
}

static void transfer_done(struct hg_op_id *transfer)
{
    assert_ptr_equal(amg_transfer_owner(transfer), &told);
    told++;
}

static struct hg_op_id *transfer_make(const struct amg_transfer_plan *plan)
{
    struct hg_op_id *transfer = NULL;

    assert_int_equal(
        amg_transfer_create(plan, transfer_done, &told, &transfer), HG_SUCCESS);
    told = 0;
    return transfer;
}

static void finish(struct hg_op_id *transfer, hg_return_t ret)
{
    for (unsigned i = 0; i < 10 * COUNT && told == 0; i++)
        (void)amg_progress_wait(context, 0);
    assert_int_equal(told, 1);
    assert_int_equal(amg_transfer_result(transfer), ret);
    amg_transfer_end(transfer);
    (void)amg_progress_wait(context, 0);
    assert_int_equal(told, 1);
}

static void test_transfer_moves_all_segments(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;

    (void)state;
    for (unsigned i = 0; i < LEN; i++)
        from[i] = (char)i;
    transfer = transfer_make(&plan);
    assert_int_equal(atomic_load(&origin->refs), 2);
    assert_int_equal(amg_tally_sum(&context->in_flight), 1);
    amg_transfer_go(transfer);
    finish(transfer, HG_SUCCESS);
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(
            to[i], from[(COUNT - 1 - i / PIECE) * PIECE + i % PIECE]);
    assert_int_equal(atomic_load(&origin->refs), 1);
    assert_int_equal(atomic_load(&local->refs), 1);
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
}

static void test_transfer_of_nothing_ends_at_once(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;

    (void)state;
    plan.len = 0;
    plan.origin_offset = LEN;
    transfer = transfer_make(&plan);
    amg_transfer_go(transfer);
    finish(transfer, HG_SUCCESS);
}

static void test_transfer_canceled_at_start_moves_nothing(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = transfer_make(&plan);

    (void)state;
    memset(to, 'x', LEN);
    amg_transfer_cancel(transfer);
    amg_transfer_go(transfer);
    finish(transfer, HG_CANCELED);
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(to[i], 'x');
}

static void test_transfer_of_wrong_descriptor_ends_with_error(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;
    struct hg_bulk *lie = NULL;
    uint8_t bytes[4096];
    uint64_t len = 0;
    uint64_t longer = 1 << 20;

    (void)state;
    assert_int_equal(amg_bulk_register(origin), HG_SUCCESS);
    len = amg_bulk_packed_len(origin, 0);
    assert_true(len <= sizeof(bytes));
    amg_bulk_pack(origin, 0, bytes);
    memcpy(bytes + 16, &longer, sizeof(longer)); /* of the first segment */
    assert_int_equal(amg_bulk_unpack(cls, bytes, len, true, &lie), HG_SUCCESS);
    plan.origin = lie;
    plan.origin_offset = longer - LEN;
    transfer = transfer_make(&plan);
    amg_transfer_go(transfer);
    finish(transfer, HG_OVERFLOW);
    assert_int_equal(amg_bulk_unref(lie), HG_SUCCESS);
}

static void test_transfer_against_the_rules_is_refused(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;

    (void)state;
    plan.op = HG_BULK_PUSH;
    assert_int_equal(amg_transfer_create(&plan, transfer_done, NULL, &transfer),
        HG_PERMISSION);
    plan = plan_make();
    plan.local_offset = 1;
    assert_int_equal(amg_transfer_create(&plan, transfer_done, NULL, &transfer),
        HG_INVALID_ARG);
    plan = plan_make();
    plan.origin_offset = UINT64_MAX;
    assert_int_equal(amg_transfer_create(&plan, transfer_done, NULL, &transfer),
        HG_INVALID_ARG);
    assert_null(transfer);
    assert_int_equal(atomic_load(&origin->refs), 1);
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
}

/* Reads from the last segment of the origin, the first bytes of `from`. */
static void needs_address_until_it_goes(bool is_uncancellable)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_addr addr;
    struct hg_op_id *transfer = NULL;

    amg_addr_init_self(cls, &addr);
    plan.origin_addr = &addr;
    plan.origin_offset = LEN - PIECE;
    plan.local_offset = 3;
    plan.len = PIECE;
    plan.is_uncancellable = is_uncancellable;
    memset(to, 'x', LEN);
    memset(from, 'y', LEN);
    transfer = transfer_make(&plan);
    assert_int_equal(amg_tally_sum(&context->in_flight), 1);
    amg_transfer_go(transfer);
    assert_int_equal(told, 0);
    amg_addr_fini(&addr);
    memset(&addr, 0xff, sizeof(addr));
    finish(transfer, HG_SUCCESS);
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(to[i], i >= 3 && i < 3 + PIECE ? 'y' : 'x');
    assert_int_equal(atomic_load(&origin->refs), 1);
    assert_int_equal(atomic_load(&local->refs), 1);
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
}

static void test_transfer_needs_address_until_it_goes(void **state)
{
    (void)state;
    needs_address_until_it_goes(true);
    needs_address_until_it_goes(false);
}

/* The transfer completes once, with any result, and may be cancelled again. */
static void test_transfer_canceled_after_its_post_ends_once(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = transfer_make(&plan);

    (void)state;
    amg_transfer_go(transfer);
    assert_int_equal(told, 0);
    amg_transfer_cancel(transfer);
    amg_transfer_cancel(transfer);
    assert_int_equal(told, 0);
    for (unsigned i = 0; i < 10 * COUNT && told == 0; i++)
        (void)amg_progress_wait(context, 0);
    assert_int_equal(told, 1);
    amg_transfer_cancel(transfer); /* too late, without effect */
    assert_true(amg_transfer_result(transfer) == HG_SUCCESS ||
                amg_transfer_result(transfer) == HG_CANCELED);
    finish(transfer, amg_transfer_result(transfer));
    assert_int_equal(amg_tally_sum(&context->in_flight), 0);
}

/* The origin freed the memory of the descriptor. */
static void test_transfer_of_freed_memory_ends_with_error(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;
    struct hg_bulk *stale = NULL;
    hg_bulk_t freed = HG_BULK_NULL;
    void *ptr = from;
    const hg_size_t len = LEN;
    uint8_t bytes[256];
    uint64_t packed_len = 0;

    (void)state;
    assert_int_equal(
        HG_Bulk_create(cls, 1, &ptr, &len, HG_BULK_READ_ONLY, &freed),
        HG_SUCCESS);
    assert_int_equal(amg_bulk_register(freed), HG_SUCCESS);
    packed_len = amg_bulk_packed_len(freed, 0);
    assert_true(packed_len <= sizeof(bytes));
    amg_bulk_pack(freed, 0, bytes);
    assert_int_equal(
        amg_bulk_unpack(cls, bytes, packed_len, true, &stale), HG_SUCCESS);
    assert_int_equal(HG_Bulk_free(freed), HG_SUCCESS);
    plan.origin = stale;
    plan.is_uncancellable = true;
    transfer = transfer_make(&plan);
    amg_transfer_go(transfer);
    finish(transfer, HG_NOENTRY);
    assert_int_equal(amg_bulk_unref(stale), HG_SUCCESS);
}

static void test_transfer_final_moves_all_segments(void **state)
{
    struct amg_transfer_plan plan = plan_make();
    struct hg_op_id *transfer = NULL;

    (void)state;
    for (unsigned i = 0; i < LEN; i++)
        from[i] = (char)(i * 3);
    plan.is_uncancellable = true;
    transfer = transfer_make(&plan);
    amg_transfer_go(transfer);
    finish(transfer, HG_SUCCESS);
    for (unsigned i = 0; i < LEN; i++)
        assert_int_equal(
            to[i], from[(COUNT - 1 - i / PIECE) * PIECE + i % PIECE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfer_moves_all_segments),
        cmocka_unit_test(test_transfer_of_nothing_ends_at_once),
        cmocka_unit_test(test_transfer_canceled_at_start_moves_nothing),
        cmocka_unit_test(test_transfer_of_wrong_descriptor_ends_with_error),
        cmocka_unit_test(test_transfer_canceled_after_its_post_ends_once),
        cmocka_unit_test(test_transfer_needs_address_until_it_goes),
        cmocka_unit_test(test_transfer_of_freed_memory_ends_with_error),
        cmocka_unit_test(test_transfer_final_moves_all_segments),
        cmocka_unit_test(test_transfer_against_the_rules_is_refused),
    };

    return cmocka_run_group_tests(tests, context_setup, context_teardown);
}
