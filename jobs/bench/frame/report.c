/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a run: its rows as a table, its warnings, its exit code. */
#include "jobs/bench/frame/report.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/expect.h"
#include "jobs/bench/frame/watch.h"

enum { CONTROLS_MAX = 128, WORDS_CAP = 4300 };

static struct results results;

static struct {
    double start_us;
    unsigned rows;
    unsigned noisy; /* of these */
    /* The different controls, to be explained below the table. */
    const char *controls[CONTROLS_MAX];
    unsigned control_count;
} report;

int report_open(const struct options *options, const char *command,
    const struct world *world, struct machine_rank *ranks)
{
    time_t now = time(NULL);
    struct tm utc;
    const char *path = NULL;
    char words[WORDS_CAP];

    if (ranks == NULL) {
        fputs("amalgam_bench: no memory for what the ranks are\n", stderr);
        return EXIT_FAILURE;
    }
    results = (struct results){.options = options,
        .nodes = world->nodes,
        .ranks = ranks,
        .rank_count = world->size,
        .why = "it was under way, or ended without a word"};
    report.start_us = clock_now_us();
    snprintf(results.command, sizeof(results.command), "%s", command);
    strftime(results.date, sizeof(results.date), "%Y-%m-%dT%H:%M:%SZ",
        gmtime_r(&now, &utc));
    machine_read(&results.machine);
    if ((options->expect != NULL && !expect_open(options->expect)) ||
        !documents_open(&results))
        return REPORT_EXIT_USAGE;
    path = documents_path();
    snprintf(words, sizeof(words), "incomplete: what was measured is in %s",
        path == NULL ? "the rows above" : path);
    watch_speak(words);
    return EXIT_SUCCESS;
}

void report_progress(int rank, const char *progress)
{
    char *own = results.ranks[rank].progress;

    if (own[0] == '\0')
        snprintf(own, MACHINE_NAME_CAP, "%s", progress);
}

void report_core(int rank, int core)
{
    snprintf(results.ranks[rank].cores, MACHINE_NAME_CAP, "%d", core);
}

void report_warn(const char *format, ...)
{
    va_list args;

    if (results.warning_count == DOCUMENT_WARNINGS_MAX)
        return;
    va_start(args, format);
    vsnprintf(results.warnings[results.warning_count++], DOCUMENT_WARNING_CAP,
        format, args);
    va_end(args);
}

/* The number of the row's control in the list below the table. */
static unsigned control_number(const char *control)
{
    for (unsigned i = 0; i < report.control_count; i++)
        if (strcmp(report.controls[i], control) == 0)
            return i + 1;
    if (report.control_count < CONTROLS_MAX)
        report.controls[report.control_count++] = control;
    return report.control_count;
}

static void head_print(void)
{
    const char *transport = results.options->transport;
    const struct machine *machine = &results.machine;

    printf("%s, %s: %s, %ld cores, %s\n", results.date, machine->host,
        machine->cpu, machine->cores, machine->kernel);
    printf("Amalgam %s, %s, libfabric %s, hwloc %s, %s, %s\n", machine->amalgam,
        machine->mpi, machine->libfabric, machine->hwloc, machine->compiler,
        machine->build);
    printf("over %s, carried by %s, between",
        transport == NULL ? "auto" : transport, results.via);
    for (int i = 0; i < 2 && i < results.rank_count; i++)
        printf("%s rank %d (%s, cores %s, progress %s)", i == 0 ? "" : " and",
            i, results.ranks[i].host, results.ranks[i].cores,
            results.ranks[i].progress);
    printf(" of %d\n\n%-13s %9s %-4s %-7s %-4s %8s %8s %8s %8s %8s %7s   %-13s "
           "%-11s %-4s %s\n",
        results.rank_count, "op", "size", "win", "memory", "unit", "value",
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

void report_row(const struct row *row)
{
    struct row whole = *row;

    whole.memory = row->memory == NULL ? "host" : row->memory;
    whole.threads = row->threads == 0 ? 1 : row->threads;
    whole.ranks = row->ranks == 0 ? 2 : row->ranks;
    whole.runs = row->runs == 0 ? 1 : row->runs;
    whole.is_noisy = row->is_noisy || row_is_noisy(row);
    if (results.via[0] == '\0')
        snprintf(results.via, sizeof(results.via), "%s", row->via);
    if (report.rows++ == 0)
        head_print();
    row_print(&whole);
    report.noisy += whole.is_noisy ? 1 : 0;
    results.seconds = (clock_now_us() - report.start_us) * 1e-6;
    documents_add(&whole);
    expect_row(&whole);
}

/* The lines below the table. */
static void table_end(void)
{
    if (report.rows > 0)
        puts("\nratio: ours / control in the row's unit, the median over the "
             "batches; spread: its\nquartiles. Good is below 1 for us "
             "(microseconds), KiB and %, above 1 for GB/s and k/s\n(thousands "
             "a second). !: the control's own figures vary by more than 25 %, "
             "or the\nhost of the machine took more than 5 % of its cores. "
             "via: what\ncarried the calls; cores: those of rank 0 and rank 1, "
             "when they are pinned.\n\nControls, by the same ranks in turn:");
    for (unsigned i = 0; i < report.control_count; i++)
        printf("  (%u) %s\n", i + 1, report.controls[i]);
    fflush(stdout);
    for (unsigned i = 0; i < results.warning_count; i++)
        fprintf(stderr, "amalgam_bench: warning: %s\n", results.warnings[i]);
}

int report_close(const char *failure)
{
    const char *why =
        failure == NULL && limit_was_reached() ? "time limit" : failure;
    const char *path = documents_path();
    unsigned unmet = 0;

    if (report.noisy > 0)
        report_warn("%u of %u rows are noisy (!): their control varied by more "
                    "than %.0f %%, or the host of this machine took more than "
                    "%.0f %% of its cores; is it idle?",
            report.noisy, report.rows, ROWS_NOISY * 100.0, ROWS_STOLEN * 100.0);
    table_end();
    unmet = expect_close(results.options->transport, why == NULL);
    if (why != NULL)
        fprintf(stderr, "amalgam_bench: incomplete (%s)%s%s\n", why,
            path == NULL ? "" : ": what was measured is in ",
            path == NULL ? "" : path);
    results.seconds = (clock_now_us() - report.start_us) * 1e-6;
    results.why = why == NULL ? "" : why;
    results.is_over = true;
    if (!documents_close() || failure != NULL)
        return EXIT_FAILURE;
    if (unmet > 0)
        return REPORT_EXIT_EXPECT;
    return why != NULL ? WATCH_EXIT + SIGALRM : EXIT_SUCCESS;
}
