/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk finds circles, ends at ranks that do not wait, are silent, dead or do
 * not answer, drops late answers, and tells a result once. The answers of the
 * ranks are made here. */
#include "rpc/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"

enum { SIZE = 64, LATE_MS = 1000, ME = 0, ASKS_MAX = 200 };

#define MS AMG_NS_PER_MS

static struct amg_hang_walk walk;
static struct amg_doing ranks[SIZE]; /* what each rank answers */
static bool is_silent[SIZE];         /* does not answer */
static bool has_page[SIZE];          /* its neighbours read its page */
static uint64_t now_ns;
static unsigned asks;
static unsigned ends_at; /* rank 5 waits no more after so many questions */

static int setup(void **state)
{
    (void)state;
    walk = (struct amg_hang_walk){.size = SIZE, .late_ms = LATE_MS};
    now_ns = 1000 * 1000 * MS;
    asks = 0;
    ends_at = 0;
    for (uint32_t i = 0; i < SIZE; i++) {
        ranks[i] = (struct amg_doing){.rank = i, .to = AMG_STATUS_NOBODY};
        is_silent[i] = has_page[i] = false;
    }
    return 0;
}

static void waits_for(uint32_t rank, uint32_t to)
{
    ranks[rank].to = to;
    ranks[rank].to_ms = LATE_MS;
    ranks[rank].to_call = 1000 + to;
    ranks[rank].stage = AMG_STAGE_SENT;
}

static void piece_tell(
    uint32_t serial, uint32_t i, const struct amg_doing *doing)
{
    struct amg_hang_piece piece = {.serial = serial, .piece = i};

    memcpy(piece.bytes,
        (const char *)doing + i % AMG_HANG_PIECES * AMG_HANG_BYTES,
        AMG_HANG_BYTES);
    amg_hang_walk_tell(&walk, &piece);
}

/* Answers as the rank `to` would. */
static void answer(const struct amg_hang_ask *ask, uint32_t to)
{
    struct amg_doing doing = ranks[ask->about];

    assert_true(++asks < ASKS_MAX);
    if (asks == ends_at) {
        ranks[5].to = AMG_STATUS_NOBODY;
        ranks[5].wait = AMG_AWAIT_NONE;
    }
    if (to == ask->about ? is_silent[to] : !has_page[ask->about])
        return;
    if (to != ask->about)
        doing.from |= AMG_FROM_PAGE;
    if (ask->caller != AMG_STATUS_NOBODY && ask->call == 1000 + ask->about)
        doing.call_stage = AMG_STAGE_QUEUED;
    for (uint32_t i = 0; i < AMG_HANG_PIECES; i++)
        piece_tell(ask->serial, i, &doing);
}

/* Runs the walk until it has nothing to do. True: there is a report. */
static bool run(struct amg_hang_report *report)
{
    struct amg_hang_ask ask;
    uint32_t to = 0;

    do {
        while (amg_hang_walk_next(&walk, ME, now_ns, &ask, &to))
            answer(&ask, to);
        if (amg_hang_walk_take(&walk, now_ns, report))
            return true;
        now_ns += 50 * MS;
    } while (amg_hang_walk_is_due(&walk));
    return false;
}

static void expect_end(enum amg_hang_end end, uint32_t count)
{
    struct amg_hang_report report;

    assert_true(run(&report));
    assert_int_equal(report.end, end);
    assert_int_equal(report.count, count);
    assert_false(report.is_again);
}

static void test_walk_finds_circles_of_any_length(void **state)
{
    static const uint32_t lens[] = {1, 2, AMG_HANG_CHAIN - 1};

    for (unsigned k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
        struct amg_hang_report report;

        (void)setup(state);
        for (uint32_t i = 0; i < lens[k]; i++)
            waits_for(10 + i, 10 + (i + 1) % lens[k]);
        amg_hang_walk_claim(&walk, 10, false);
        assert_true(run(&report));
        assert_int_equal(report.end, AMG_HANG_CIRCLE);
        assert_int_equal(report.count, lens[k]);
        assert_int_equal(report.circle_at, 0);
        for (uint32_t i = 0; i < lens[k]; i++)
            assert_int_equal(report.chain[i].stage, AMG_STAGE_QUEUED);
    }
}

static void test_walk_ends_where_nobody_is_waited_for(void **state)
{
    (void)state;
    waits_for(5, 6);
    waits_for(6, 7);
    amg_hang_walk_claim(&walk, 5, false);
    expect_end(AMG_HANG_HANDLER, 3);
}

static void test_walk_reads_page_of_silent_rank(void **state)
{
    struct amg_hang_report report;

    (void)state;
    waits_for(5, 6);
    is_silent[6] = has_page[6] = true;
    ranks[6].idle_ms = 5000;
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_SILENT);
    assert_int_equal(report.chain[1].from, AMG_FROM_PAGE);
}

static void test_walk_goes_on_beyond_a_slow_rank(void **state)
{
    (void)state;
    waits_for(5, 6);
    waits_for(6, 7);
    is_silent[6] = has_page[6] = true;
    ranks[6].idle_ms = 200; /* it makes progress */
    amg_hang_walk_claim(&walk, 5, false);
    expect_end(AMG_HANG_HANDLER, 3);
}

static void test_walk_ends_at_dead_and_unseen_ranks(void **state)
{
    struct amg_hang_report report;

    (void)state;
    waits_for(5, 6);
    is_silent[6] = true;
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_UNSEEN);
    assert_int_equal(report.lost, 6);
    assert_int_equal(report.chain[0].stage, AMG_STAGE_UNSEEN);
    waits_for(20, 21);
    is_silent[21] = has_page[21] = true;
    ranks[21].from = AMG_FROM_DEAD;
    amg_hang_walk_claim(&walk, 20, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_DEAD);
    assert_int_equal(report.number, 2);
}

static void test_walk_does_not_report_what_moves(void **state)
{
    struct amg_hang_report report;

    (void)state;
    waits_for(5, 6);
    waits_for(6, 7);
    ranks[6].to_ms = 10;
    amg_hang_walk_claim(&walk, 5, false);
    assert_false(run(&report));
    amg_hang_walk_claim(&walk, 8, false); /* its operation has ended */
    assert_false(run(&report));
    amg_hang_walk_claim(&walk, 5, true); /* a user wants to know */
    assert_true(run(&report));
    assert_true(report.is_asked);
    assert_int_equal(report.count, 3);
    amg_hang_walk_claim(&walk, SIZE, false); /* of no rank of the job */
    assert_false(amg_hang_walk_is_due(&walk));
}

static void test_walk_does_not_report_a_call_that_ends_meanwhile(void **state)
{
    struct amg_hang_report report;

    (void)state;
    waits_for(5, 6);
    ranks[5].to_call = 1; /* rank 6 does not know it */
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_HANDLER);
    assert_int_equal(asks, 3);
    (void)setup(state);
    waits_for(5, 6);
    ranks[5].to_call = 1;
    ends_at = 2;
    amg_hang_walk_claim(&walk, 5, false);
    assert_false(run(&report));
}

static void test_walk_asks_who_is_missing_in_a_collective_call(void **state)
{
    struct amg_hang_report report;

    (void)state;
    for (uint32_t i = 0; i < SIZE; i++)
        ranks[i].wait = AMG_AWAIT_BARRIER, ranks[i].wait_ms = LATE_MS;
    amg_hang_walk_claim(&walk, 3, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_AWAIT);
    assert_int_equal(report.count, 1);
    ranks[40].wait_ms = 10; /* the last rank has just come */
    amg_hang_walk_claim(&walk, 3, false);
    assert_false(run(&report));
    ranks[40].wait = AMG_AWAIT_NONE;
    waits_for(40, 41);
    ranks[41].wait = AMG_AWAIT_NONE;
    amg_hang_walk_claim(&walk, 3, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_HANDLER);
    assert_int_equal(report.count, 3);
    assert_int_equal(report.chain[1].rank, 40);
    assert_int_equal(report.chain[2].rank, 41);
}

static void test_walk_does_not_report_a_collective_call_that_has_just_ended(
    void **state)
{
    struct amg_hang_report report;

    (void)state;
    ranks[5].wait = AMG_AWAIT_QUIESCE; /* the others have left that call */
    ranks[5].wait_ms = LATE_MS;
    ends_at = 2;
    amg_hang_walk_claim(&walk, 5, false);
    assert_false(run(&report));
    assert_int_equal(asks, 3);
}

static void test_walk_names_the_handlers_that_hold_a_quiescence_up(void **state)
{
    struct amg_hang_report report;

    (void)state;
    for (uint32_t i = 0; i < SIZE; i++)
        ranks[i].wait = AMG_AWAIT_QUIESCE, ranks[i].wait_ms = LATE_MS;
    ranks[2].running = 1;
    amg_hang_walk_claim(&walk, 3, false);
    assert_true(run(&report));
    assert_int_equal(report.end, AMG_HANG_HANDLER);
    assert_int_equal(report.count, 2);
    assert_int_equal(report.chain[1].rank, 2);
}

static void test_walk_drops_late_and_doubtful_pieces(void **state)
{
    struct amg_doing other = {.to = 9, .to_ms = LATE_MS};
    struct amg_hang_report report;
    struct amg_hang_ask ask;
    uint32_t to = 0;

    (void)state;
    waits_for(5, 6);
    ranks[6].from = AMG_FROM_DEAD;
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(amg_hang_walk_next(&walk, ME, now_ns, &ask, &to));
    assert_false(amg_hang_walk_next(&walk, ME, now_ns, &ask, &to));
    for (uint32_t i = 0; i < AMG_HANG_PIECES; i++) {
        piece_tell(ask.serial - 1, i, &other);
        piece_tell(ask.serial + 1, i, &other);
        piece_tell(ask.serial, i + AMG_HANG_PIECES, &other);
    }
    assert_int_equal(walk.pieces, 0);
    for (uint32_t i = 1; i < AMG_HANG_PIECES; i++)
        piece_tell(ask.serial, i, &ranks[5]);
    piece_tell(ask.serial, 1, &ranks[5]); /* a second time */
    assert_false(amg_hang_walk_take(&walk, now_ns, &report));
    piece_tell(ask.serial, 0, &ranks[5]);
    assert_int_equal(walk.result.count, 1);
    expect_end(AMG_HANG_DEAD, 2);
}

static void test_walk_tells_a_result_once_then_at_doubled_times(void **state)
{
    struct amg_hang_report report;

    (void)state;
    waits_for(5, 7);
    waits_for(6, 7);
    for (uint32_t i = 8; i < 8 + AMG_HANG_CLAIMS + 1; i++) {
        waits_for(i, 7);
        amg_hang_walk_claim(&walk, i, false);
        amg_hang_walk_claim(&walk, i, false);
    }
    assert_int_equal(walk.claim_count, AMG_HANG_CLAIMS);
    assert_true(run(&report));
    assert_false(report.is_again);
    assert_false(run(&report)); /* the other claims, one cause */
    now_ns += 2 * LATE_MS * MS;
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(run(&report));
    assert_true(report.is_again);
    assert_int_equal(report.number, 1);
    now_ns += 2 * LATE_MS * MS;
    amg_hang_walk_claim(&walk, 6, false);
    assert_false(run(&report));
    now_ns += 2 * LATE_MS * MS;
    amg_hang_walk_claim(&walk, 6, false);
    assert_true(run(&report));
    waits_for(30, 31);
    amg_hang_walk_claim(&walk, 30, false); /* another cause */
    assert_true(run(&report));
    assert_false(report.is_again);
    assert_int_equal(report.number, 2);
    now_ns += 1000ull * LATE_MS * MS; /* the causes went away, and came back */
    amg_hang_walk_claim(&walk, 5, false);
    assert_true(run(&report));
    assert_false(report.is_again);
}

#define TEST(name) cmocka_unit_test_setup(test_walk_##name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_circles_of_any_length),
        TEST(ends_where_nobody_is_waited_for),
        TEST(reads_page_of_silent_rank),
        TEST(goes_on_beyond_a_slow_rank),
        TEST(ends_at_dead_and_unseen_ranks),
        TEST(does_not_report_what_moves),
        TEST(does_not_report_a_call_that_ends_meanwhile),
        TEST(asks_who_is_missing_in_a_collective_call),
        TEST(does_not_report_a_collective_call_that_has_just_ended),
        TEST(names_the_handlers_that_hold_a_quiescence_up),
        TEST(drops_late_and_doubtful_pieces),
        TEST(tells_a_result_once_then_at_doubled_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
