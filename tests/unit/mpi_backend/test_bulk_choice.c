/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice between windows and messages, and its reason, from given times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "mpi_backend/mpi_rma.h"

enum { US = 1000, MS = 1000000, KIB = 1024 };

/* Windows take so many percent of the time of messages, which move 64 KiB in 10
 * us and 1 MiB in 80. */
static void figures_set(struct amg_mpi_figures *figures,
    enum amg_mpi_memory memory, unsigned medium, unsigned large)
{
    figures->message_inverse[memory][AMG_MPI_SIZE_MEDIUM] = INT64_MAX - 10 * US;
    figures->message_inverse[memory][AMG_MPI_SIZE_LARGE] = INT64_MAX - 80 * US;
    figures->window_ns[memory][AMG_MPI_SIZE_MEDIUM] = medium * 10 * US / 100;
    figures->window_ns[memory][AMG_MPI_SIZE_LARGE] = large * 80 * US / 100;
}

/* As MPICH 4.0.2 is: dynamic windows are slow, others are not. */
static void figures_usual(struct amg_mpi_figures *ret_figures)
{
    *ret_figures = (struct amg_mpi_figures){
        .needs_target = 1, .ranks = 4, .took_ns = 23 * MS};
    figures_set(ret_figures, AMG_MPI_MEMORY_USER, 500, 1000);
    figures_set(ret_figures, AMG_MPI_MEMORY_LIBRARY, 110, 80);
}

static void table_is(const struct amg_mpi_choice *choice,
    enum amg_mpi_memory memory, bool medium, bool large)
{
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, 16 * KIB), medium);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, 256 * KIB), medium);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, 256 * KIB + 1), large);
    assert_int_equal(
        amg_mpi_choice_is_window(choice, memory, UINT64_MAX), large);
}

static void says(const struct amg_mpi_choice *choice, const char *text)
{
    if (strstr(choice->reason, text) == NULL)
        fail_msg("'%s' does not say '%s'", choice->reason, text);
    assert_null(strchr(choice->reason, '\n'));
    assert_true(strlen(choice->reason) < sizeof(choice->reason) - 1);
}

static void test_choice_usual_times_split_by_memory(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    amg_mpi_choice_make(&figures, &choice);
    table_is(&choice, AMG_MPI_MEMORY_USER, false, false);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, false, true);
    assert_false(choice.is_passive);
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p and mpi+rma");
    says(&choice, "bulk between nodes: user memory by messages (GB/s of "
                  "windows, messages: 64 KiB 1.3, 6.6; 1 MiB 1.3, 13), library "
                  "memory by windows above 256 KiB (GB/s of windows, messages: "
                  "64 KiB 6, 6.6; 1 MiB 16, 13); RMA needs its target; 4 ranks "
                  "measured in 23.0 ms");
}

static void test_choice_tie_goes_to_messages_unless_passive(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures_set(&figures, AMG_MPI_MEMORY_LIBRARY, 100, 100);
    amg_mpi_choice_make(&figures, &choice);
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p");
    figures.needs_target = 0;
    amg_mpi_choice_make(&figures, &choice);
    assert_true(choice.is_passive);
    table_is(&choice, AMG_MPI_MEMORY_LIBRARY, true, true);
    table_is(&choice, AMG_MPI_MEMORY_USER, false, false);
    says(&choice, "RMA does not need its target");
}

/* Five percent, to the nanosecond. */
static void test_choice_margin_is_exact(void **state)
{
    static const struct {
        uint64_t message_ns, needs_target;
        bool is_window;
    } rows[] = {
        {1050, 1, true}, {1049, 1, false}, {950, 0, true}, {949, 0, false}};
    struct amg_mpi_choice choice;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct amg_mpi_figures figures = {
            .window_ns[AMG_MPI_MEMORY_USER][AMG_MPI_SIZE_MEDIUM] = 1000,
            .message_inverse[AMG_MPI_MEMORY_USER] = {INT64_MAX -
                                                     rows[i].message_ns},
            .needs_target = rows[i].needs_target};

        amg_mpi_choice_make(&figures, &choice);
        table_is(&choice, AMG_MPI_MEMORY_USER, rows[i].is_window, false);
    }
}

/* Lengths that no pair measured in time go by messages, and are not logged. */
static void test_choice_missing_time_means_messages(void **state)
{
    struct amg_mpi_figures figures = {.needs_target = 1};
    struct amg_mpi_choice choice;

    (void)state;
    amg_mpi_choice_make(&figures, &choice);
    table_is(&choice, AMG_MPI_MEMORY_USER, false, false);
    says(&choice, "user memory by messages, library memory by messages; RMA");
    figures_set(&figures, AMG_MPI_MEMORY_USER, 50, 0);
    amg_mpi_choice_make(&figures, &choice);
    table_is(&choice, AMG_MPI_MEMORY_USER, true, false);
    says(&choice, "user memory by windows up to 256 KiB (GB/s of windows, "
                  "messages: 64 KiB 13, 6.6), library memory by messages;");
}

static void test_choice_failure_means_messages(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures_set(&figures, AMG_MPI_MEMORY_USER, 50, 50);
    amg_mpi_choice_make(&figures, &choice);
    says(&choice, "user memory by windows (");
    figures.failed = 1 + 3;
    amg_mpi_choice_make(&figures, &choice);
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p");
    says(&choice, "; rank 3 failed, see its log");
}

/* However fast they are. */
static void test_choice_post_that_waits_means_messages(void **state)
{
    struct amg_mpi_figures figures;
    struct amg_mpi_choice choice;

    (void)state;
    figures_usual(&figures);
    figures_set(&figures, AMG_MPI_MEMORY_LIBRARY, 50, 50);
    figures.is_blocking = 1;
    amg_mpi_choice_make(&figures, &choice);
    assert_string_equal(amg_mpi_choice_name(&choice), "mpi+p2p");
    says(&choice, "; RMA blocks its caller without its target;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_usual_times_split_by_memory),
        cmocka_unit_test(test_choice_tie_goes_to_messages_unless_passive),
        cmocka_unit_test(test_choice_margin_is_exact),
        cmocka_unit_test(test_choice_missing_time_means_messages),
        cmocka_unit_test(test_choice_failure_means_messages),
        cmocka_unit_test(test_choice_post_that_waits_means_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
