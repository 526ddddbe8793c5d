/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured next, and that it ends in time: by a clock of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mpi_backend/mpi_pace.h"

enum { US = 1000, MS = 1000000, BUDGET = 20 * MS };

/* Measures with steps that take `base` and as much again for each byte, in
 * thousandths of a nanosecond; returns what the clock says in the end. */
static uint64_t measure(struct amg_mpi_pace *pace, uint64_t base,
    uint64_t millis_a_byte, unsigned *ret_count)
{
    enum amg_mpi_size size = AMG_MPI_SIZE_SMALL;
    enum amg_mpi_pull pull = AMG_MPI_PULL_MESSAGE;
    uint64_t now = 0;
    unsigned count = 0;

    while (amg_mpi_pace_next(pace, now, &size, &pull)) {
        uint64_t ns =
            base + amg_mpi_choice_probe_len(size) * millis_a_byte / 1000;

        now += ns;
        amg_mpi_pace_took(pace, size, pull, ns);
        assert_true(++count < 1000);
    }
    *ret_count = count;
    return now;
}

static void test_pace_fast_medium_repeats_all(void **state)
{
    struct amg_mpi_pace pace;
    struct amg_mpi_figures figures;
    unsigned count = 0;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    assert_true(measure(&pace, 2 * US, 80, &count) < BUDGET); /* 12.5 GB/s */
    assert_int_equal(count, AMG_MPI_PACE_STEPS * (AMG_MPI_PACE_MAX + 1));
    amg_mpi_pace_figures(&pace, &figures);
    for (unsigned memory = 0; memory < AMG_MPI_MEMORIES; memory++)
        for (unsigned size = 0; size < AMG_MPI_SIZES; size++) {
            uint64_t ns =
                2 * US +
                amg_mpi_choice_probe_len((enum amg_mpi_size)size) * 80 / 1000;

            assert_int_equal(figures.of[memory][size].window_ns, ns);
            assert_int_equal(figures.of[memory][size].message_ns, ns);
        }
}

/* At 1 GB/s there are fewer repetitions, and the time is kept all the same. */
static void test_pace_slow_medium_keeps_the_time(void **state)
{
    struct amg_mpi_pace pace;
    unsigned count = 0;
    uint64_t end_ns = 0;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    end_ns = measure(&pace, 20 * US, 1000, &count);
    assert_true(end_ns <= BUDGET);
    assert_true(end_ns > BUDGET / 2);
    assert_true(count < AMG_MPI_PACE_STEPS * (AMG_MPI_PACE_MAX + 1));
    assert_int_not_equal(
        amg_mpi_pace_median_ns(&pace, AMG_MPI_SIZE_LARGE, AMG_MPI_PULL_MESSAGE),
        0);
}

/* Where 64 KiB take 6.5 ms, 1 MiB is not even tried. */
static void test_pace_hopeless_size_is_not_begun(void **state)
{
    struct amg_mpi_pace pace;
    unsigned count = 0;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    assert_true(measure(&pace, 0, 100000, &count) <= BUDGET);
    assert_int_equal(
        pace.steps[AMG_MPI_SIZE_LARGE][AMG_MPI_PULL_MESSAGE].done, 0);
    assert_int_equal(
        amg_mpi_pace_median_ns(&pace, AMG_MPI_SIZE_LARGE, AMG_MPI_PULL_MESSAGE),
        0);
}

static void test_pace_nothing_begins_after_the_end(void **state)
{
    struct amg_mpi_pace pace;
    enum amg_mpi_size size = AMG_MPI_SIZE_SMALL;
    enum amg_mpi_pull pull = AMG_MPI_PULL_MESSAGE;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    assert_true(amg_mpi_pace_next(&pace, 0, &size, &pull));
    assert_false(amg_mpi_pace_next(&pace, BUDGET - 1, &size, &pull));
    assert_false(amg_mpi_pace_next(&pace, BUDGET, &size, &pull));
    assert_false(amg_mpi_pace_next(&pace, UINT64_MAX, &size, &pull));
}

static void test_pace_closed_way_is_left_out(void **state)
{
    struct amg_mpi_pace pace;
    struct amg_mpi_figures figures;
    unsigned count = 0;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    amg_mpi_pace_close(&pace, AMG_MPI_PULL_LIBRARY);
    measure(&pace, 2 * US, 80, &count);
    assert_int_equal(
        count, AMG_MPI_SIZES * (AMG_MPI_PULLS - 1) * (AMG_MPI_PACE_MAX + 1));
    amg_mpi_pace_figures(&pace, &figures);
    assert_int_equal(figures.of[AMG_MPI_MEMORY_LIBRARY][0].window_ns, 0);
    assert_int_not_equal(figures.of[AMG_MPI_MEMORY_USER][0].window_ns, 0);
}

/* The ways of a size take turns, so that they are compared at about the same
 * time; a size is over before the next begins. */
static void test_pace_ways_take_turns(void **state)
{
    struct amg_mpi_pace pace;
    enum amg_mpi_size size = AMG_MPI_SIZE_SMALL;
    enum amg_mpi_pull pull = AMG_MPI_PULL_MESSAGE;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    for (unsigned i = 0; i < AMG_MPI_PACE_STEPS * (AMG_MPI_PACE_MAX + 1); i++) {
        unsigned turn = i / AMG_MPI_PULLS;

        assert_true(amg_mpi_pace_next(&pace, 0, &size, &pull));
        assert_int_equal(size, turn / (AMG_MPI_PACE_MAX + 1));
        assert_int_equal(
            pace.steps[size][pull].done, turn % (AMG_MPI_PACE_MAX + 1));
        amg_mpi_pace_took(&pace, size, pull, 10);
    }
    assert_false(amg_mpi_pace_next(&pace, 0, &size, &pull));
}

/* Pulls take far less than what is lost between them: each size still has its
 * share. */
static void test_pace_sizes_have_shares(void **state)
{
    struct amg_mpi_pace pace;
    enum amg_mpi_size size = AMG_MPI_SIZE_SMALL;
    enum amg_mpi_pull pull = AMG_MPI_PULL_MESSAGE;
    uint64_t first[AMG_MPI_SIZES] = {0, 0, 0};
    uint64_t now = 0;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    while (amg_mpi_pace_next(&pace, now, &size, &pull)) {
        if (pace.steps[size][pull].done == 0 && pull == AMG_MPI_PULL_MESSAGE)
            first[size] = now;
        now += 500 * US;
        amg_mpi_pace_took(&pace, size, pull, 10 * US);
    }
    assert_true(first[AMG_MPI_SIZE_MIDDLE] > 0);
    assert_true(first[AMG_MPI_SIZE_MIDDLE] <= BUDGET * 30 / 100);
    assert_true(first[AMG_MPI_SIZE_LARGE] > first[AMG_MPI_SIZE_MIDDLE]);
    assert_true(first[AMG_MPI_SIZE_LARGE] <= BUDGET * 60 / 100);
    assert_true(now <= BUDGET);
}

/* The medians are for the window, the best are for messages. */
static void test_pace_busy_machine_speaks_for_messages(void **state)
{
    static const uint64_t windows[] = {1, 20, 20, 21};
    static const uint64_t messages[] = {1, 10, 30, 31};
    struct amg_mpi_pace pace;
    struct amg_mpi_figures figures;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    for (unsigned i = 0; i < 4; i++) {
        amg_mpi_pace_took(
            &pace, AMG_MPI_SIZE_SMALL, AMG_MPI_PULL_USER, windows[i]);
        amg_mpi_pace_took(
            &pace, AMG_MPI_SIZE_SMALL, AMG_MPI_PULL_MESSAGE, messages[i]);
    }
    amg_mpi_pace_figures(&pace, &figures);
    assert_int_equal(figures.of[AMG_MPI_MEMORY_USER][0].window_ns, 20);
    assert_int_equal(figures.of[AMG_MPI_MEMORY_USER][0].message_ns, 10);
    assert_int_equal(figures.of[AMG_MPI_MEMORY_LIBRARY][0].window_ns, 0);
}

static void test_pace_median_leaves_the_first_out(void **state)
{
    static const uint64_t times[] = {900, 7, 1, 9, 3, 5};
    struct amg_mpi_pace pace;

    (void)state;
    amg_mpi_pace_init(&pace, 0, BUDGET);
    for (unsigned i = 0; i < 6; i++) {
        amg_mpi_pace_took(
            &pace, AMG_MPI_SIZE_SMALL, AMG_MPI_PULL_USER, times[i]);
        if (i < AMG_MPI_PACE_MIN)
            assert_int_equal(amg_mpi_pace_median_ns(
                                 &pace, AMG_MPI_SIZE_SMALL, AMG_MPI_PULL_USER),
                0);
    }
    assert_int_equal(
        amg_mpi_pace_median_ns(&pace, AMG_MPI_SIZE_SMALL, AMG_MPI_PULL_USER),
        5);
}

/* In no round has a node two parts, and each pulls once. */
static void test_pace_rounds_are_disjoint(void **state)
{
    (void)state;
    for (unsigned count = 2; count < 40; count++) {
        unsigned pulls = 0;

        for (unsigned round = 0; round < amg_mpi_pace_rounds(count); round++)
            for (unsigned node = 0; node < count; node++) {
                unsigned before = (node + count - 1) % count;
                bool does_pull = amg_mpi_pace_round_of(node, count) == round;
                bool does_serve = amg_mpi_pace_round_of(before, count) == round;

                assert_false(does_pull && does_serve);
                pulls += does_pull;
            }
        assert_int_equal(pulls, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_fast_medium_repeats_all),
        cmocka_unit_test(test_pace_slow_medium_keeps_the_time),
        cmocka_unit_test(test_pace_hopeless_size_is_not_begun),
        cmocka_unit_test(test_pace_nothing_begins_after_the_end),
        cmocka_unit_test(test_pace_closed_way_is_left_out),
        cmocka_unit_test(test_pace_ways_take_turns),
        cmocka_unit_test(test_pace_sizes_have_shares),
        cmocka_unit_test(test_pace_busy_machine_speaks_for_messages),
        cmocka_unit_test(test_pace_median_leaves_the_first_out),
        cmocka_unit_test(test_pace_rounds_are_disjoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
