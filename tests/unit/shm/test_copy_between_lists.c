/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between segment lists of two processes, by each way that needs no
 * message: library memory, other memory, both in one list, and unmapped rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "unit/shm/exposer.h"

/* As exposer_move(), from and to a local list. */
static hg_return_t move_rows(struct exposer *f, int kind, uint32_t direction,
    uint64_t offset, uint64_t len, struct amg_seg_iter local,
    uint64_t *ret_moved)
{
    struct amg_shm_access access = {
        .key = f->shown.keys[kind], .direction = direction};
    uint64_t moved = 0;
    hg_return_t rc = HG_SUCCESS;

    while (moved < len && rc == HG_SUCCESS) {
        uint64_t budget = moved % 7 == 0 ? 100 : 1 << 20;
        uint64_t step = 0;

        access.offset = offset + moved;
        access.len = len - moved;
        access.goes_on = access.offset > 0;
        rc = amg_shm_copy_step(
            &f->domain, &f->peer, &access, &local, &budget, &step);
        if (rc == HG_SUCCESS) {
            assert_in_range(step, 1, len - moved);
            assert_true(budget < 1 << 20);
            moved += step;
        }
    }
    *ret_moved = moved;
    return rc;
}

/* The local list: `count` segments whose lengths do not match the rows. */
static struct amg_seg_iter scattered(struct exposer *f, uint64_t len,
    uint32_t count, struct amg_segment *ret_list)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t part = count == 1 ? len : (i * 53) % 91;

        if (part > len - sum || i == count - 1)
            part = len - sum;
        ret_list[i] = (struct amg_segment){f->local + sum + 10 * i, part};
        sum += part;
    }
    return (struct amg_seg_iter){ret_list, count, 0, 0};
}

/* Ranges of the rows, to and from local lists of each kind. */
static void rows_pass(struct exposer *f, int kind)
{
    static const uint32_t counts[] = {1, 3000};
    static char plain[ROWS * ROW_LEN];
    static struct amg_segment list[3000];
    uint64_t sum = exposer_rows_sum();
    uint64_t moved = 0;

    for (unsigned k = 0; k < 2; k++)
        for (uint64_t from = 0; from < sum; from += 9973) {
            uint64_t len = from % 2 == 0 ? sum - from : (sum - from) / 3 + 1;
            struct amg_seg_iter here = scattered(f, len, counts[k], list);
            struct amg_seg_iter at = here;

            memset(f->local, 9, LEN);
            assert_int_equal(
                move_rows(f, kind, AMG_MEM_READ, from, len, here, &moved),
                HG_SUCCESS);
            amg_seg_iter_gather(plain, &at, len);
            exposer_assert_filled(plain, from, len);
            /* Others go there, and the right ones again. */
            exposer_fill(plain, from + 1, len);
            at = here;
            amg_seg_iter_scatter(&at, plain, len);
            assert_int_equal(
                move_rows(f, kind, AMG_MEM_WRITE, from, len, here, &moved),
                HG_SUCCESS);
            memset(f->local, 9, LEN);
            assert_int_equal(
                move_rows(f, kind, AMG_MEM_READ, from, len, here, &moved),
                HG_SUCCESS);
            at = here;
            amg_seg_iter_gather(plain, &at, len);
            exposer_assert_filled(plain, from + 1, len);
            exposer_fill(plain, from, len);
            at = here;
            amg_seg_iter_scatter(&at, plain, len);
            assert_int_equal(
                move_rows(f, kind, AMG_MEM_WRITE, from, len, here, &moved),
                HG_SUCCESS);
        }
}

static void test_lists_by_cma(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    rows_pass(f, ROWS_IN_HEAP);
    rows_pass(f, ROWS_IN_AREA);
    rows_pass(f, ROWS_IN_BOTH);
}

static void test_lists_by_direct(void **state)
{
    struct exposer *f = *state;
    struct amg_segment here = {f->local, LEN};
    uint64_t moved = 0;

    exposer_skip_without(f, AMG_SHM_COPY_DIRECT);
    rows_pass(f, ROWS_IN_AREA);
    assert_int_equal(move_rows(f, ROWS_IN_BOTH, AMG_MEM_READ, 0, 5000,
                         (struct amg_seg_iter){&here, 1, 0, 0}, &moved),
        HG_OPNOTSUPPORTED);
    assert_in_range(moved, 1, 4999); /* up to the first that is not there */
}

static void test_lists_of_both_kinds_by_auto(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_AUTO);
    rows_pass(f, ROWS_IN_BOTH);
    rows_pass(f, ROWS_IN_AREA);
}

static void test_lists_stop_where_memory_ends(void **state)
{
    struct exposer *f = *state;
    struct amg_segment here = {f->local, LEN};
    struct amg_seg_iter local = {&here, 1, 0, 0};
    uint64_t sum = exposer_rows_sum();
    uint64_t end = 0;
    uint64_t moved = 0;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    for (unsigned i = 0; i < HOLE_AT / ROW_LEN; i++)
        end += exposer_row_len(i);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_int_equal(
        move_rows(f, ROWS_IN_HOLE, AMG_MEM_READ, 0, sum, local, &moved),
        HG_NA_ERROR);
    assert_int_equal(moved, end);
    exposer_assert_filled(f->local, 0, end);
    assert_int_equal(
        move_rows(f, ROWS_IN_HOLE, AMG_MEM_WRITE, 0, sum, local, &moved),
        HG_NA_ERROR);
    assert_int_equal(moved, end);
    assert_int_equal(
        move_rows(f, ROWS_IN_HEAP, AMG_MEM_READ, 0, sum + 1, local, &moved),
        HG_OVERFLOW);
    assert_int_equal(moved, 0);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, exposer_setup, exposer_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists_by_cma),
        TEST(test_lists_by_direct),
        TEST(test_lists_of_both_kinds_by_auto),
        TEST(test_lists_stop_where_memory_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
