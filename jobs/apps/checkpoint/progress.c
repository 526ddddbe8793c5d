/* SPDX-License-Identifier: BSD-3-Clause */
/* Output for the user: error lines, the progress of all senders, and the table
 * at the end.
 *
 * Progress is a sum over all ranks that does not block: when one has come, the
 * next is begun a moment later. So all ranks learn at the same time that all
 * are done. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_LEN = 9000, /* holds two long paths and some words */
    BAR_LEN = 40,
    STATS_STEPS = 16,  /* buckets in a power of two */
    SILENT_FACTOR = 2, /* a rank may be silent that much longer than a call */
};

#define SUM_EVERY_S  0.1
#define LINE_EVERY_S 1.0

struct sum {
    uint64_t files;
    uint64_t bytes;
    uint64_t done; /* ranks */
};

enum {
    SUM_LEN = sizeof(struct sum) / sizeof(uint64_t),
    TOTALS_LEN = sizeof(struct totals) / sizeof(uint64_t),
};

static struct {
    double start_s;
    double shown_s;
    uint64_t shown_files;
    bool is_terminal;
    struct sum own; /* of the sum that is under way */
    struct sum all;
    struct sum last; /* that has come */
    MPI_Request request;
    double asked_s;
} progress;

void report(enum report kind, const char *format, ...)
{
    char line[LINE_LEN];
    size_t len = 0;
    va_list args;

    job.errors += kind == ERROR;
    snprintf(line, sizeof(line), "checkpoint: rank %d: %s", job.rank,
        kind == NOTE ? "note: " : "");
    len = strlen(line);
    va_start(args, format);
    vsnprintf(line + len, sizeof(line) - len - 1, format, args);
    va_end(args);
    len = strlen(line);
    line[len++] = '\n';
    /* One write, so that the lines of several ranks do not mix. */
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* the exit code still tells of it */
}

void stats_add(uint64_t *counts, uint64_t duration_ns)
{
    counts[(unsigned)(STATS_STEPS * log2((double)duration_ns + 1))]++;
}

double stats_percentile_us(const uint64_t *counts, double percent)
{
    uint64_t count = 0;
    uint64_t below = 0;

    for (unsigned i = 0; i < STATS_LEN; i++)
        count += counts[i];
    for (unsigned i = 0; count > 0 && i < STATS_LEN; i++) {
        below += counts[i];
        if (below > 0 && (double)below >= (double)count * percent / 100)
            return exp2((i + 0.5) / STATS_STEPS) / 1000;
    }
    return 0;
}

bool all_agree(bool is_fine)
{
    int mine = is_fine;
    int all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
}

bool progress_open(void)
{
    /* The ranks write to mpiexec, whose launcher may know of a terminal. */
    const char *said = getenv("AMALGAM_TERMINAL");

    progress.start_s = progress.shown_s = progress.asked_s = MPI_Wtime();
    progress.is_terminal =
        (said != NULL && strcmp(said, "1") == 0) || isatty(STDOUT_FILENO);
    progress.request = MPI_REQUEST_NULL;
    return true;
}

static void progress_print(void)
{
    double bytes = (double)progress.last.bytes;
    double all = (double)job.bytes;
    char bar[BAR_LEN + 1] = "";

    memset(bar, '.', BAR_LEN);
    memset(bar, '#', (size_t)(BAR_LEN * (bytes < all ? bytes / all : 1)));
    if (progress.is_terminal)
        printf("\r[%s] ", bar);
    printf("%llu of %llu files, %.1f of %.1f MB, %.2f GB/s%s",
        (unsigned long long)progress.last.files, (unsigned long long)job.files,
        bytes / 1e6, all / 1e6, bytes / 1e9 / (MPI_Wtime() - progress.start_s),
        progress.is_terminal ? " " : "\n");
    fflush(stdout);
}

bool progress_step(bool is_done)
{
    double now = MPI_Wtime();
    int has_come = 0;

    if (progress.request == MPI_REQUEST_NULL &&
        (is_done || now - progress.asked_s >= SUM_EVERY_S)) {
        progress.asked_s = now;
        progress.own =
            (struct sum){job.totals.files, job.totals.bytes, is_done};
        MPI_Iallreduce(&progress.own, &progress.all, SUM_LEN, MPI_UINT64_T,
            MPI_SUM, MPI_COMM_WORLD, &progress.request);
    }
    if (progress.request != MPI_REQUEST_NULL)
        MPI_Test(&progress.request, &has_come, MPI_STATUS_IGNORE);
    if (!has_come)
        return false;
    progress.last = progress.all;
    if (job.rank == 0 && progress.last.files != progress.shown_files &&
        now - progress.shown_s >=
            (progress.is_terminal ? SUM_EVERY_S : LINE_EVERY_S)) {
        progress.shown_s = now;
        progress.shown_files = progress.last.files;
        progress_print();
    }
    return progress.last.done == (uint64_t)job.size;
}

bool progress_is_silent(void)
{
    int limit_s = SILENT_FACTOR * job.wait_s;

    if (progress.request == MPI_REQUEST_NULL ||
        MPI_Wtime() - progress.asked_s <= limit_s)
        return false;
    report(ERROR, "some rank has not been heard of for %d s", limit_s);
    return true;
}

void progress_table(void)
{
    double seconds = MPI_Wtime() - progress.start_s;
    static uint64_t calls[STATS_LEN];
    struct totals *rows = calloc((size_t)job.size, sizeof(*rows));
    double scale = seconds > 0 ? 1 / seconds / 1e9 : 0;
    struct totals sum = {0};
    uint64_t count = 0;

    MPI_Reduce(&job.totals, &sum, TOTALS_LEN, MPI_UINT64_T, MPI_SUM, 0,
        MPI_COMM_WORLD);
    MPI_Reduce(
        job.calls, calls, STATS_LEN, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (all_agree(rows != NULL))
        MPI_Gather(&job.totals, sizeof(sum), MPI_BYTE, rows, sizeof(sum),
            MPI_BYTE, 0, MPI_COMM_WORLD);
    for (unsigned i = 0; i < STATS_LEN; i++)
        count += calls[i];
    if (job.rank == 0) {
        if (progress.is_terminal) {
            progress_print();
            printf("\n");
        }
        printf("%8s %15s %9s %8s %9s %9s %9s\n", "files", "bytes", "seconds",
            "GB/s", "RPCs", "p50 us", "p99 us");
        printf("%8llu %15llu %9.3f %8.3f %9llu %9.1f %9.1f\n",
            (unsigned long long)sum.files, (unsigned long long)sum.bytes,
            seconds, (double)sum.bytes * scale, (unsigned long long)count,
            stats_percentile_us(calls, 50), stats_percentile_us(calls, 99));
    }
    for (int i = 0; job.rank == 0 && rows != NULL && i < job.servers; i++)
        printf("%8llu %15llu %9s %8.3f stored by rank %d\n",
            (unsigned long long)rows[i].stored_files,
            (unsigned long long)rows[i].stored_bytes, "",
            (double)rows[i].stored_bytes * scale, i);
    fflush(stdout);
    free(rows);
}

void progress_close(void)
{
}
