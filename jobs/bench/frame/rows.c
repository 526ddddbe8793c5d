/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a run, as a table on the terminal. */
#include "jobs/bench/frame/rows.h"

#include <stdio.h>
#include <string.h>

#include "jobs/bench/base/meter.h"
#include "jobs/bench/frame/expect.h"
#include "jobs/bench/frame/results.h"

enum { CONTROLS_MAX = 128 }; /* all has 44 over shared memory */

static struct {
    unsigned count;
    /* The different controls, to be explained below the table. */
    const char *controls[CONTROLS_MAX];
    unsigned control_count;
} rows;

/* The number of the row's control in the list below the table. */
static unsigned control_number(const char *control)
{
    for (unsigned i = 0; i < rows.control_count; i++)
        if (strcmp(rows.controls[i], control) == 0)
            return i + 1;
    if (rows.control_count < CONTROLS_MAX)
        rows.controls[rows.control_count++] = control;
    return rows.control_count;
}

/* Who measures what, where and with what. */
static void head_print(const struct results *results)
{
    const char *transport = results->options->transport;
    const struct machine *machine = &results->machine;

    printf("%s, %s: %s, %ld cores, %s\n", results->date, machine->host,
        machine->cpu, machine->cores, machine->kernel);
    printf("Amalgam %s, %s, libfabric %s, hwloc %s, %s, %s\n", machine->amalgam,
        machine->mpi, machine->libfabric, machine->hwloc, machine->compiler,
        machine->build);
    printf("over %s, carried by %s, between",
        transport == NULL ? "auto" : transport, results->via);
    for (int i = 0; i < 2 && i < results->rank_count; i++)
        printf("%s rank %d (%s, cores %s, progress %s)", i == 0 ? "" : " and",
            i, results->ranks[i].host, results->ranks[i].cores,
            results->ranks[i].progress);
    printf(" of %d\n\n%-13s %9s %-4s %-7s %-4s %8s %8s %8s %8s %8s %7s   %-13s "
           "%-11s %-4s %s\n",
        results->rank_count, "op", "size", "win", "memory", "unit", "value",
        "p50 us", "p99 us", "p99.9", "control", "ratio", "spread", "against",
        "via", "cores");
}

static void row_print(const struct row *row)
{
    char window[32];
    char ranks[32] = "";

    if (row->ranks > 2)
        snprintf(ranks, sizeof(ranks), ", of %u ranks", row->ranks);
    snprintf(window, sizeof(window), row->threads > 1 ? "%ux%u" : "%u",
        row->window, row->threads);
    printf("%-13s %9zu %-4s %-7s %-4s %8.3f %8.2f %8.2f %8.2f %8.3f %7.3f%c  "
           "%.3f-%-7.3f %-11s %-4s %s%s  (%u)\n",
        row->op, row->size, window, row->memory, row->unit, row->value,
        row->p50_us, row->p99_us, row->p999_us, row->control_value, row->ratio,
        row->is_noisy ? '!' : ' ', row->spread[0], row->spread[1], row->against,
        row->via, row->cores, ranks, control_number(row->control));
    fflush(stdout);
}

void rows_add(const struct row *row)
{
    struct row whole = *row;

    if (whole.threads == 0)
        whole.threads = 1;
    if (whole.ranks == 0)
        whole.ranks = 2;
    if (whole.runs == 0)
        whole.runs = 1;
    if (row_is_noisy(&whole))
        whole.is_noisy = true;
    results_say_via(whole.via);
    meter_erase();
    if (rows.count == 0)
        head_print(results_get());
    rows.count++;
    row_print(&whole);
    results_add(&whole);
    expect_row(&whole);
}

void rows_end(void)
{
    const struct results *results = results_get();

    meter_erase();
    if (rows.count > 0)
        puts("\nratio: ours / control in the row's unit, the median over the "
             "batches; spread: its\nquartiles. Good is below 1 for us "
             "(microseconds) KiB and %, above 1 for GB/s and k/s\n(thousands a "
             "second). !: the control's own figures vary by more than 25 %, or "
             "the\nhost of the machine took more than 5 % of its cores. "
             "via: "
             "what\ncarried the calls; cores: those of rank 0 and rank 1, when "
             "they are pinned.\n\nControls, by the same ranks in turn:");
    for (unsigned i = 0; i < rows.control_count; i++)
        printf("  (%u) %s\n", i + 1, rows.controls[i]);
    fflush(stdout);
    for (unsigned i = 0; i < results->warning_count; i++)
        fprintf(stderr, "amalgam_bench: warning: %s\n", results->warnings[i]);
}
