/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring of cells: each is read once and in order, a full ring is detected, and
 * either the writer or a blocking reader sees the other's store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/shm_ring.h"

enum { MANY = 200000, ENOUGH_MS = 30000 };

/* The oldest unread cell, or NULL. */
static const struct amg_shm_cell *peek(const struct amg_shm_in *in)
{
    return amg_shm_in_has(in) ? in->cell : NULL;
}

static struct amg_shm_ring ring;

static void put(struct amg_shm_out *out, uint32_t number)
{
    struct amg_shm_cell *cell = out->cell;

    assert_true(amg_shm_out_has_room(out, 1));
    memcpy(cell->bytes, &number, sizeof(number));
    (void)amg_shm_out_push(out, cell, 1);
}

static uint32_t number_of(const struct amg_shm_cell *cell)
{
    uint32_t number = 0;

    memcpy(&number, cell->bytes, sizeof(number));
    return number;
}

static void test_ring_is_full_until_the_reader_reports(void **state)
{
    struct amg_shm_out out;
    struct amg_shm_in in;

    (void)state;
    memset(&ring, 0, sizeof(ring));
    amg_shm_out_init(&out, &ring, false);
    amg_shm_in_init(&in, &ring, false);
    assert_null(peek(&in));
    for (uint32_t i = 0; i < AMG_SHM_CELLS; i++)
        put(&out, i);
    assert_false(amg_shm_out_has_room(&out, 1));
    atomic_store(&ring.is_full, 1);
    for (uint32_t i = 0; i < AMG_SHM_CELLS; i++) {
        assert_int_equal(number_of(peek(&in)), i);
        /* The writer blocks: it must be woken at every report. */
        assert_int_equal(amg_shm_in_pop(&in, 1), (i + 1) % AMG_SHM_REPORT == 0);
        assert_int_equal(
            amg_shm_out_has_room(&out, 1), i + 1 >= AMG_SHM_REPORT);
    }
    assert_null(peek(&in));
}

static void test_reset_ring_begins_anew(void **state)
{
    struct amg_shm_out out;
    struct amg_shm_in in;

    (void)state;
    amg_shm_out_init(&out, &ring, false);
    for (uint32_t i = 0; i < 5; i++)
        put(&out, i);
    amg_shm_ring_reset(&ring);
    amg_shm_out_init(&out, &ring, false);
    amg_shm_in_init(&in, &ring, false);
    assert_null(peek(&in));
    put(&out, 77);
    assert_int_equal(number_of(peek(&in)), 77);
}

/* Messages of several cells: each keeps its bytes where the ring begins again,
 * and no cell that continued one is taken for another message later. */
static void test_long_messages_fill_cells_in_a_row(void **state)
{
    struct amg_shm_out out;
    struct amg_shm_in in;
    char sent[AMG_SHM_RUN];
    char got[AMG_SHM_RUN];

    (void)state;
    memset(&ring, 0, sizeof(ring));
    amg_shm_out_init(&out, &ring, false);
    amg_shm_in_init(&in, &ring, false);
    for (uint32_t i = 0; i < 10 * AMG_SHM_CELLS; i++) {
        uint32_t len = i * 7 % (AMG_SHM_RUN + 1);
        uint32_t cells = amg_shm_run_cells(len);

        /* What the reader expects next, so that only the order protects it. */
        for (uint32_t at = 0; at < sizeof(sent) / 4; at++)
            memcpy(sent + 4 * at, &(uint32_t){in.head + 1 + at % 64}, 4);
        assert_true(amg_shm_out_has_room(&out, cells));
        memcpy(out.cell->bytes, sent, AMG_SHM_INLINE);
        amg_shm_out_continue(&out, sent, cells);
        assert_null(peek(&in));
        (void)amg_shm_out_push(&out, out.cell, cells);
        assert_non_null(peek(&in));
        memcpy(got, in.cell->bytes, AMG_SHM_INLINE);
        amg_shm_in_continue(&in, got, cells);
        assert_memory_equal(got, sent, len);
        (void)amg_shm_in_pop(&in, cells);
        assert_null(peek(&in));
        assert_ptr_equal(in.cell, out.cell);
    }
    assert_int_equal(amg_shm_run_cells(AMG_SHM_INLINE), 1);
    assert_int_equal(amg_shm_run_cells(AMG_SHM_INLINE + 1), 2);
    assert_int_equal(amg_shm_run_cells(AMG_SHM_RUN), 1 + AMG_SHM_MORE_MAX);
}

/* Sequence numbers may pass 2^32. */
static void test_numbers_may_wrap(void **state)
{
    struct amg_shm_out out;
    struct amg_shm_in in;

    (void)state;
    memset(&ring, 0, sizeof(ring));
    amg_shm_out_init(&out, &ring, false);
    amg_shm_in_init(&in, &ring, false);
    out.tail = in.head = in.reported = UINT32_MAX - 2 * AMG_SHM_CELLS;
    atomic_store(&ring.consumed, in.head);
    out.room = AMG_SHM_CELLS;
    for (uint32_t i = 0; i < 5 * AMG_SHM_CELLS; i++) {
        put(&out, i);
        assert_int_equal(number_of(peek(&in)), i);
        (void)amg_shm_in_pop(&in, 1);
        assert_null(peek(&in));
    }
}

static _Atomic uint32_t news;

static void *write_all(void *arg)
{
    struct amg_shm_out out;
    const bool *needs_fence = arg;

    amg_shm_out_init(&out, &ring, *needs_fence);
    for (uint32_t i = 0; i < MANY; i++) {
        struct amg_shm_cell *cell = out.cell;

        while (!amg_shm_out_has_room(&out, 1))
            sched_yield();
        memcpy(cell->bytes, &i, sizeof(i));
        if (amg_shm_out_push(&out, cell, 1))
            atomic_fetch_add(&news, 1);
    }
    return NULL;
}

static void fence(bool needs_fence)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!needs_fence)
        assert_int_equal(
            syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), 0);
}

/* Blocks whenever the ring is empty, until an event. */
static void rest_and_read(bool needs_fence)
{
    struct amg_shm_in in;
    pthread_t writer;
    uint64_t deadline_ns = 0;
    uint32_t next = 0;

    memset(&ring, 0, sizeof(ring));
    atomic_store(&news, 0);
    amg_shm_in_init(&in, &ring, needs_fence);
    assert_int_equal(pthread_create(&writer, NULL, write_all, &needs_fence), 0);
    while (next < MANY) {
        const struct amg_shm_cell *cell = peek(&in);
        uint32_t seen = 0;

        if (cell != NULL) {
            assert_int_equal(number_of(cell), next);
            next++;
            (void)amg_shm_in_pop(&in, 1);
            continue;
        }
        (void)amg_shm_in_report(&in);
        seen = atomic_load(&news);
        atomic_store_explicit(
            &ring.poll_state, AMG_SHM_DORMANT, memory_order_relaxed);
        fence(needs_fence);
        /* From here on only events are checked. An event may be that of a cell
         * that was read already; it must never be missing. */
        deadline_ns = amg_clock_deadline_ns(ENOUGH_MS);
        if (peek(&in) == NULL)
            while (atomic_load(&news) == seen) {
                assert_true(amg_clock_ns() < deadline_ns);
                sched_yield();
            }
        atomic_store_explicit(
            &ring.poll_state, AMG_SHM_POLLED, memory_order_relaxed);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
}

static void test_wait_between_threads_loses_nothing(void **state)
{
    (void)state;
    rest_and_read(true);
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
            0) == 0)
        rest_and_read(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_is_full_until_the_reader_reports),
        cmocka_unit_test(test_reset_ring_begins_anew),
        cmocka_unit_test(test_long_messages_fill_cells_in_a_row),
        cmocka_unit_test(test_numbers_may_wrap),
        cmocka_unit_test(test_wait_between_threads_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
