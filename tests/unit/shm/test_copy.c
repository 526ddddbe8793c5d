/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between two processes, by each way that needs no message: the bytes,
 * refusals, unmapped memory, and an exposer that dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "unit/shm/exposer.h"

/* Gets the exposed bytes, puts others, and gets them back. */
static void bytes_pass(struct exposer *f, int kind)
{
    assert_int_equal(
        exposer_move(f, kind, AMG_MEM_READ, 0, LEN, NULL), HG_SUCCESS);
    exposer_assert_filled(f->local, 0, LEN);
    exposer_fill(f->local, 777, LEN - 10);
    assert_int_equal(
        exposer_move(f, kind, AMG_MEM_WRITE, 3, LEN - 10, NULL), HG_SUCCESS);
    memset(f->local, 0, LEN);
    assert_int_equal(
        exposer_move(f, kind, AMG_MEM_READ, 0, LEN, NULL), HG_SUCCESS);
    exposer_assert_filled(f->local, 0, 3);
    exposer_assert_filled(f->local + 3, 777, LEN - 10);
    exposer_assert_filled(f->local + LEN - 7, LEN - 7, 7);
}

static void test_copy_cma_moves_the_bytes(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    assert_null(f->peer.bulk.area);
    bytes_pass(f, IN_HEAP);
    bytes_pass(f, IN_AREA);
}

static void test_copy_direct_moves_the_bytes(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_DIRECT);
    assert_int_equal(f->peer.bulk.has_cma, 0);
    bytes_pass(f, IN_AREA);
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
}

static void test_copy_auto_takes_an_available_way(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_AUTO);
    bytes_pass(f, IN_HEAP);
    bytes_pass(f, IN_AREA);
    assert_non_null(f->peer.bulk.area);
}

static void test_copy_segment_needs_messages(void **state)
{
    struct exposer *f = *state;

    f->domain.bulk.copy = AMG_SHM_COPY_SEGMENT;
    assert_int_equal(
        exposer_move(f, IN_AREA, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
    assert_null(f->peer.bulk.accessor);
}

/* Containers share a node, but neither pids nor addresses. */
static void test_copy_other_pid_namespace_needs_messages(void **state)
{
    struct exposer *f = *state;

    f->peer.region.pid_ns++;
    assert_int_equal(
        exposer_move(f, IN_AREA, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
    assert_null(f->peer.bulk.accessor);
}

static void test_copy_wrong_probe_is_no_cma(void **state)
{
    struct exposer *f = *state;

    f->peer.region.head->probe_addr += 8;
    f->domain.bulk.copy = AMG_SHM_COPY_CMA;
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_OPNOTSUPPORTED);
}

static void test_copy_not_allowed_is_refused(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    memset(f->local, 9, LEN);
    assert_int_equal(
        exposer_move(f, READ_ONLY, AMG_MEM_WRITE, 0, 1, NULL), HG_PERMISSION);
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 1, LEN, NULL), HG_OVERFLOW);
    f->shown.keys[IN_HEAP].serial++;
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_NOENTRY);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    for (size_t i = 0; i < LEN; i++)
        assert_int_equal(f->local[i], 9);
}

static void test_copy_stops_where_memory_ends(void **state)
{
    struct exposer *f = *state;
    uint64_t moved = 0;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    assert_int_equal(
        exposer_move(f, IN_HOLE, AMG_MEM_READ, 0, HOLE_LEN, &moved),
        HG_NA_ERROR);
    assert_int_equal(moved, HOLE_LEN / 2);
    exposer_assert_filled(f->local, 0, HOLE_LEN / 2);
    assert_int_equal(
        exposer_move(f, IN_HOLE, AMG_MEM_WRITE, 0, HOLE_LEN, &moved),
        HG_NA_ERROR);
    assert_int_equal(moved, HOLE_LEN / 2);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    /* The memory was at fault, not the way. */
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 0, 1, NULL), HG_SUCCESS);
}

static void test_copy_beyond_4_gib(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    assert_int_equal(
        exposer_move(f, HUGE_ONE, AMG_MEM_READ, FAR_AT, 10000, NULL),
        HG_SUCCESS);
    exposer_assert_filled(f->local, FAR_AT, 10000);
    assert_int_equal(
        exposer_move(f, HUGE_ONE, AMG_MEM_READ, HUGE_LEN - 10, 10, NULL),
        HG_SUCCESS);
}

static void test_copy_from_a_dead_process_fails(void **state)
{
    struct exposer *f = *state;

    exposer_skip_without(f, AMG_SHM_COPY_CMA);
    exposer_kill(f);
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_READ, 0, LEN, NULL), HG_HOSTUNREACH);
    assert_int_equal(
        exposer_move(f, IN_HEAP, AMG_MEM_WRITE, 0, LEN, NULL), HG_HOSTUNREACH);
}

/* The exposer died before the ways to it were determined. */
static void test_copy_from_a_process_dead_for_long_needs_messages(void **state)
{
    struct exposer *f = *state;

    exposer_kill(f);
    assert_int_equal(exposer_move(f, IN_AREA, AMG_MEM_READ, 0, LEN, NULL),
        HG_OPNOTSUPPORTED);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, exposer_setup, exposer_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_copy_cma_moves_the_bytes),
        TEST(test_copy_direct_moves_the_bytes),
        TEST(test_copy_auto_takes_an_available_way),
        TEST(test_copy_segment_needs_messages),
        TEST(test_copy_other_pid_namespace_needs_messages),
        TEST(test_copy_wrong_probe_is_no_cma),
        TEST(test_copy_not_allowed_is_refused),
        TEST(test_copy_stops_where_memory_ends),
        TEST(test_copy_beyond_4_gib),
        TEST(test_copy_from_a_dead_process_fails),
        TEST(test_copy_from_a_process_dead_for_long_needs_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
