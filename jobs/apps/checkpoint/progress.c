/* SPDX-License-Identifier: BSD-3-Clause */
/* Output for the user: error lines, the progress of all senders, and the table
 * at the end. */
#include "jobs/apps/checkpoint/checkpoint.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam.h"

enum {
    LINE_LEN = 9000, /* holds two long paths and some words */
    BAR_LEN = 40,
    STATS_STEPS = 16, /* buckets in a power of two */
};

#define BAR_EVERY_NS  (NS_PER_S / 10)
#define LINE_EVERY_NS NS_PER_S

/* Owned by main(). */
struct progress {
    struct job *job;
    uint64_t files, files_all;
    uint64_t bytes, bytes_all;
    uint64_t start_ns;
    uint64_t shown_ns;
    uint64_t shown_files;
    bool is_terminal;
    uint64_t heard_ns[]; /* by rank; UINT64_MAX: serves, or is done */
};

static int own_rank = -1;
static unsigned long errors;

/* One write, so that the lines of several ranks do not mix. */
static void line_write(const char *kind, const char *format, va_list args)
{
    char line[LINE_LEN];
    size_t len = 0;

    snprintf(line, sizeof(line), "checkpoint: rank %d: %s", own_rank, kind);
    len = strlen(line);
    vsnprintf(line + len, sizeof(line) - len - 1, format, args);
    len = strlen(line);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* the exit code still tells of it */
}

void report_rank_set(int rank)
{
    own_rank = rank;
}

void report_error(const char *format, ...)
{
    va_list args;

    errors++;
    va_start(args, format);
    line_write("", format, args);
    va_end(args);
}

void report_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line_write("note: ", format, args);
    va_end(args);
}

unsigned long report_error_count(void)
{
    return errors;
}

void stats_add(uint64_t *counts, uint64_t duration_ns)
{
    counts[(unsigned)(STATS_STEPS * log2((double)duration_ns + 1))]++;
}

double stats_percentile_us(const uint64_t *counts, double percent)
{
    uint64_t count = 0;
    uint64_t below = 0;
    unsigned i = 0;

    for (i = 0; i < STATS_LEN; i++)
        count += counts[i];
    for (i = 0; count > 0 && i < STATS_LEN; i++) {
        below += counts[i];
        if (below > 0 && (double)below >= (double)count * percent / 100)
            return exp2((i + 0.5) / STATS_STEPS) / 1000;
    }
    return 0;
}

struct progress *progress_open(struct job *job, const struct list *list)
{
    struct progress *progress =
        calloc(1, sizeof(*progress) + (size_t)job->size * sizeof(uint64_t));
    /* The ranks write to mpiexec, whose launcher may know of a terminal. */
    const char *said = getenv("AMALGAM_TERMINAL");
    int i = 0;

    if (progress == NULL)
        return NULL;
    progress->job = job;
    progress->files_all = list->files;
    progress->bytes_all = list->bytes;
    progress->start_ns = now_ns();
    progress->shown_ns = progress->start_ns;
    progress->is_terminal =
        (said != NULL && strcmp(said, "1") == 0) || isatty(STDOUT_FILENO);
    for (i = 0; i < job->size; i++)
        progress->heard_ns[i] =
            i < job->size - job->senders ? UINT64_MAX : progress->start_ns;
    if (HG_Register_data(job->cls, job->beat_id, progress, NULL) !=
        HG_SUCCESS) {
        free(progress);
        return NULL;
    }
    return progress;
}

static void progress_print(const struct progress *progress)
{
    double done = progress->bytes_all == 0
                      ? 1
                      : (double)progress->bytes / (double)progress->bytes_all;
    char bar[BAR_LEN + 1] = "";

    memset(bar, '.', BAR_LEN);
    memset(bar, '#', (size_t)(BAR_LEN * (done < 1 ? done : 1)));
    if (progress->is_terminal)
        printf("\r[%s] ", bar);
    printf("%llu of %llu files, %.1f of %.1f MB, %.2f GB/s%s",
        (unsigned long long)progress->files,
        (unsigned long long)progress->files_all, (double)progress->bytes / 1e6,
        (double)progress->bytes_all / 1e6,
        (double)progress->bytes / (double)(now_ns() - progress->start_ns),
        progress->is_terminal ? " " : "\n");
    fflush(stdout);
}

void progress_show(struct progress *progress)
{
    uint64_t every_ns = progress->is_terminal ? BAR_EVERY_NS : LINE_EVERY_NS;

    if (now_ns() - progress->shown_ns < every_ns ||
        progress->shown_files == progress->files)
        return;
    progress->shown_ns = now_ns();
    progress->shown_files = progress->files;
    progress_print(progress);
}

int progress_silent_rank(const struct progress *progress, int limit_s)
{
    uint64_t now = now_ns();
    int i = 0;

    for (i = 0; i < progress->job->size; i++)
        if (progress->heard_ns[i] != UINT64_MAX &&
            now - progress->heard_ns[i] > (uint64_t)limit_s * NS_PER_S)
            return i;
    return -1;
}

void progress_close(struct progress *progress)
{
    if (progress == NULL)
        return;
    if (progress->is_terminal) {
        progress_print(progress);
        printf("\n");
    }
    HG_Register_data(progress->job->cls, progress->job->beat_id, NULL, NULL);
    free(progress);
}

hg_return_t progress_on_beat(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct progress *progress = HG_Registered_data(info->hg_class, info->id);
    beat_in_t beat;
    int rank = -1;

    if (progress != NULL &&
        amalgam_addr_get_rank(info->hg_class, info->addr, &rank) ==
            HG_SUCCESS &&
        HG_Get_input(handle, &beat) == HG_SUCCESS) {
        progress->files += beat.files;
        progress->bytes += beat.bytes;
        progress->heard_ns[rank] = beat.is_done ? UINT64_MAX : now_ns();
        HG_Free_input(handle, &beat);
    }
    if (HG_Respond(handle, NULL, NULL, NULL) != HG_SUCCESS)
        report_error("cannot answer rank %d", rank);
    return HG_Destroy(handle);
}

static void row_print(
    uint64_t files, uint64_t bytes, const char *seconds, double rate)
{
    printf("%8llu %15llu %9s %8.3f", (unsigned long long)files,
        (unsigned long long)bytes, seconds, rate);
}

void table_print(const struct job *job, double seconds)
{
    static uint64_t calls[STATS_LEN];
    struct totals *rows = calloc((size_t)job->size, sizeof(*rows));
    double scale = seconds > 0 ? 1 / seconds / 1e9 : 0;
    struct totals sum = {0};
    uint64_t count = 0;
    char text[32];
    int i = 0;

    MPI_Reduce(&job->totals, &sum, sizeof(sum) / sizeof(uint64_t), MPI_UINT64_T,
        MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(
        job->calls, calls, STATS_LEN, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (all_agree(rows != NULL))
        MPI_Gather(&job->totals, sizeof(sum), MPI_BYTE, rows, sizeof(sum),
            MPI_BYTE, 0, MPI_COMM_WORLD);
    for (i = 0; i < STATS_LEN; i++)
        count += calls[i];
    if (job->rank == 0) {
        printf("%8s %15s %9s %8s %9s %9s %9s\n", "files", "bytes", "seconds",
            "GB/s", "RPCs", "p50 us", "p99 us");
        snprintf(text, sizeof(text), "%9.3f", seconds);
        row_print(sum.files, sum.bytes, text, (double)sum.bytes * scale);
        printf(" %9llu %9.1f %9.1f\n", (unsigned long long)count,
            stats_percentile_us(calls, 50), stats_percentile_us(calls, 99));
    }
    for (i = 0; job->rank == 0 && rows != NULL && i < job->servers; i++) {
        row_print(rows[i].stored_files, rows[i].stored_bytes, "",
            (double)rows[i].stored_bytes * scale);
        printf(" stored by rank %d\n", i);
    }
    fflush(stdout);
    free(rows);
}
