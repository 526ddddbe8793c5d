/* SPDX-License-Identifier: BSD-3-Clause */
/* From made-up figures to a choice and its reason; what several ranks say comes
 * to the worst of it, in whatever order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mpi_backend/mpi_choice.h"
#include "mpi_backend/mpi_vote.h"

enum { US = 1000, MS = 1000000 };

/* Windows take `percent` of the time of messages. */
static void figures_set(struct amg_mpi_figures *figures,
    enum amg_mpi_memory memory, unsigned small, unsigned middle, unsigned large)
{
    const unsigned percents[AMG_MPI_SIZES] = {small, middle, large};
    const uint64_t message_ns[AMG_MPI_SIZES] = {4 * US, 10 * US, 80 * US};

    for (unsigned size = 0; size < AMG_MPI_SIZES; size++)
        figures->of[memory][size] = (struct amg_mpi_figure){
            .message_ns = message_ns[size],
            .window_ns = message_ns[size] * percents[size] / 100,
        };
}

/* As MPICH 4.0.2 is: dynamic windows are slow, that of the pool is not. */
static void figures_usual(struct amg_mpi_figures *ret_figures)
{
    *ret_figures =
        (struct amg_mpi_figures){.windows_ns = 71 * MS, .probe_ns = 23 * MS};
    figures_set(ret_figures, AMG_MPI_MEMORY_USER, 180, 500, 1000);
    figures_set(ret_figures, AMG_MPI_MEMORY_LIBRARY, 150, 110, 80);
}

static void table_is(const struct amg_mpi_choice *choice,
    enum amg_mpi_memory memory, bool is_put, bool small, bool middle,
    bool large)
{
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, 1), small);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, 16384), small);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, 16385), middle);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, 262144), middle);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, 262145), large);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, is_put, UINT64_MAX), large);
}

static void says(const struct amg_mpi_choice *choice, const char *text)
{
    if (strstr(choice->reason, text) == NULL)
        fail_msg("'%s' does not say '%s'", choice->reason, text);
    assert_null(strchr(choice->reason, '\n'));
    assert_true(strlen(choice->reason) < sizeof(choice->reason) - 1);
}

static void test_choice_usual_figures_split_by_memory(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    amg_mpi_choice_make(&figures, &choice);
    for (int is_put = 0; is_put < 2; is_put++) {
        table_is(&choice, AMG_MPI_MEMORY_USER, is_put, false, false, false);
        table_is(&choice, AMG_MPI_MEMORY_LIBRARY, is_put, false, false, true);
    }
    assert_true(choice.was_probed);
    assert_false(choice.is_passive);
    assert_true(amg_mpi_choice_uses_windows(&choice));
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p and mpi+rma");
    says(&choice, "bulk between nodes: user memory by messages (a dynamic "
                  "window moves 4 KiB at 0.57 GB/s, messages at 1");
    says(&choice, "; 1 MiB at 1.3, 13), library memory by the pool window "
                  "above 256 KiB (the pool window moves 4 KiB at ");
    says(&choice, "; RMA waits for its target; windows took 71.0 ms, the "
                  "probe 23.0 ms");
}

static void test_choice_tie_goes_to_messages_unless_passive(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures_set(&figures, AMG_MPI_MEMORY_LIBRARY, 100, 100, 100);
    amg_mpi_choice_make(&figures, &choice);
    assert_false(amg_mpi_choice_uses_windows(&choice));
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p");
    says(&choice, "library memory by messages (");
    figures.is_passive = true;
    amg_mpi_choice_make(&figures, &choice);
    assert_true(choice.is_passive);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, false, true, true, true);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, true, true, true, true);
    table_is(&choice, AMG_MPI_MEMORY_USER, false, false, false, false);
    says(&choice, "library memory by the pool window (");
    says(&choice, "RMA needs no help of its target");
}

/* Five in a hundred faster, to the nanosecond. */
static void test_choice_margin_is_exact(void **state)
{
    const struct amg_mpi_figure enough = {
        .message_ns = 1050, .window_ns = 1000};
    const struct amg_mpi_figure less = {.message_ns = 1049, .window_ns = 1000};
    const struct amg_mpi_figure slow = {.message_ns = 950, .window_ns = 1000};
    const struct amg_mpi_figure slower = {.message_ns = 949, .window_ns = 1000};

    (void)state;
    assert_true(amg_mpi_choice_is_faster(&enough, false));
    assert_false(amg_mpi_choice_is_faster(&less, false));
    assert_true(amg_mpi_choice_is_faster(&slow, true));
    assert_false(amg_mpi_choice_is_faster(&slower, true));
}

/* A short push over a medium that needs its target asks twice. */
static void test_choice_short_push_needs_passive(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures_set(&figures, AMG_MPI_MEMORY_LIBRARY, 50, 50, 50);
    amg_mpi_choice_make(&figures, &choice);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, false, true, true, true);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, true, false, true, true);
}

static void test_choice_missing_figure_means_messages(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures.is_passive = true;
    figures.of[AMG_MPI_MEMORY_LIBRARY][AMG_MPI_SIZE_LARGE].window_ns = 0;
    figures_set(&figures, AMG_MPI_MEMORY_USER, 0, 0, 0);
    amg_mpi_choice_make(&figures, &choice);
    assert_false(amg_mpi_choice_uses_windows(&choice));
    says(
        &choice, "user memory by messages (nothing could be measured in time)");
}

static void test_choice_sizes_are_named(void **state)
{
    static const struct {
        unsigned percents[AMG_MPI_SIZES];
        const char *name;
    } rows[] = {
        {{50, 50, 50}, "pool window ("},
        {{50, 200, 200}, "pool window up to 16 KiB ("},
        {{200, 50, 200}, "pool window from 16 to 256 KiB ("},
        {{50, 50, 200}, "pool window up to 256 KiB ("},
        {{200, 200, 50}, "pool window above 256 KiB ("},
        {{50, 200, 50}, "pool window up to 16 KiB and above 256 KiB ("},
        {{200, 50, 50}, "pool window above 16 KiB ("},
        {{200, 200, 200}, "library memory by messages ("},
    };
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        figures_usual(&figures);
        figures_set(&figures, AMG_MPI_MEMORY_LIBRARY, rows[i].percents[0],
            rows[i].percents[1], rows[i].percents[2]);
        amg_mpi_choice_make(&figures, &choice);
        says(&choice, rows[i].name);
    }
}

/* What went wrong is said; where it may have spoilt the figures, all go by
 * messages. */
static void test_choice_trouble_is_told(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures.rank = 3;
    figures.trouble = AMG_MPI_TROUBLE_LATE;
    amg_mpi_choice_make(&figures, &choice);
    says(&choice, "; rank 3 did not answer in time; windows took");
    assert_true(amg_mpi_choice_uses_windows(&choice));
    for (unsigned trouble = AMG_MPI_TROUBLE_BYTES;
         trouble <= AMG_MPI_TROUBLE_WINDOWS; trouble++) {
        figures.trouble = (enum amg_mpi_trouble)trouble;
        amg_mpi_choice_make(&figures, &choice);
        says(&choice, "bulk between nodes: by messages; rank 3 ");
        assert_false(amg_mpi_choice_uses_windows(&choice));
    }
}

static void test_choice_set_takes_one_way(void **state)
{
    struct amg_mpi_choice choice;

    (void)state;
    amg_mpi_choice_set(&choice, true, "because");
    assert_string_equal(choice.reason, "because");
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+rma");
    assert_false(choice.was_probed);
    table_is(&choice, AMG_MPI_MEMORY_USER, true, true, true, true);
    amg_mpi_choice_set(&choice, false, "");
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p");
}

/* In any order, the worst of three is the same; one without a voice has no
 * figures, but may have trouble. */
static void test_ballots_come_to_the_worst(void **state)
{
    static const int orders[6][3] = {
        {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct amg_mpi_ballot each[3];

    (void)state;
    memset(each, 0, sizeof(each));
    for (unsigned i = 0; i < 2; i++) {
        each[i].voices = 1;
        figures_usual(&each[i].figures);
        each[i].figures.is_passive = true;
        each[i].figures.rank = i;
    }
    figures_set(&each[1].figures, AMG_MPI_MEMORY_LIBRARY, 50, 0, 90);
    each[1].figures.probe_ns = 30 * MS;
    each[2].figures.trouble = AMG_MPI_TROUBLE_MEMORY;
    each[2].figures.rank = 7;
    for (unsigned i = 0; i < 6; i++) {
        struct amg_mpi_ballot sum = each[orders[i][0]];
        const struct amg_mpi_figures *all = &sum.figures;

        amg_mpi_ballot_add(&each[orders[i][1]], &sum);
        amg_mpi_ballot_add(&each[orders[i][2]], &sum);
        assert_int_equal(sum.voices, 2);
        assert_true(all->is_passive);
        assert_int_equal(all->trouble, AMG_MPI_TROUBLE_MEMORY);
        assert_int_equal(all->rank, 7);
        assert_int_equal(all->probe_ns, 30 * MS);
        assert_int_equal(all->of[AMG_MPI_MEMORY_LIBRARY][0].window_ns, 6 * US);
        assert_int_equal(all->of[AMG_MPI_MEMORY_LIBRARY][1].window_ns, 0);
        assert_int_equal(all->of[AMG_MPI_MEMORY_LIBRARY][2].window_ns, 72 * US);
    }
    each[0].figures.is_passive = false;
    amg_mpi_ballot_add(&each[0], &each[1]);
    assert_false(each[1].figures.is_passive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_usual_figures_split_by_memory),
        cmocka_unit_test(test_choice_tie_goes_to_messages_unless_passive),
        cmocka_unit_test(test_choice_margin_is_exact),
        cmocka_unit_test(test_choice_short_push_needs_passive),
        cmocka_unit_test(test_choice_missing_figure_means_messages),
        cmocka_unit_test(test_choice_sizes_are_named),
        cmocka_unit_test(test_choice_trouble_is_told),
        cmocka_unit_test(test_choice_set_takes_one_way),
        cmocka_unit_test(test_ballots_come_to_the_worst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
