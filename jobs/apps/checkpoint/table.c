/* SPDX-License-Identifier: BSD-3-Clause */
/* The table at the end: what was done, and how fast. */
#include "jobs/apps/checkpoint/table.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROW_WORDS = sizeof(struct table_row) / sizeof(uint64_t) };

static double rate_gb(uint64_t bytes, double seconds)
{
    return seconds > 0 ? (double)bytes / 1e9 / seconds : 0;
}

static void print(const struct job *job, const struct table_row *sum,
    const struct table_row *rows, const struct stats *stats, double seconds)
{
    int i = 0;

    printf("%8s %15s %9s %8s %9s %9s %9s\n", "files", "bytes", "seconds",
        "GB/s", "RPCs", "p50 us", "p99 us");
    printf("%8llu %15llu %9.3f %8.3f %9llu %9.1f %9.1f\n",
        (unsigned long long)sum->files, (unsigned long long)sum->bytes, seconds,
        rate_gb(sum->bytes, seconds), (unsigned long long)stats_count(stats),
        stats_percentile_us(stats, 50), stats_percentile_us(stats, 99));
    for (i = 0; rows != NULL && i < job->servers; i++)
        printf("%8llu %15llu %9s %8.3f stored by rank %d\n",
            (unsigned long long)rows[i].stored_files,
            (unsigned long long)rows[i].stored_bytes, "",
            rate_gb(rows[i].stored_bytes, seconds), i);
    fflush(stdout);
}

uint64_t table_print(const struct job *job, const struct table_row *row,
    struct stats *stats, double seconds, MPI_Comm comm)
{
    struct table_row sum = {0, 0, 0, 0};
    struct table_row *rows = NULL;
    int has_memory = 1;

    if (job->rank == 0) {
        rows = calloc((size_t)job->size, sizeof(*rows));
        has_memory = rows != NULL;
    }
    MPI_Bcast(&has_memory, 1, MPI_INT, 0, comm);
    MPI_Reduce(row, &sum, ROW_WORDS, MPI_UINT64_T, MPI_SUM, 0, comm);
    if (has_memory)
        MPI_Gather(row, ROW_WORDS, MPI_UINT64_T, rows, ROW_WORDS, MPI_UINT64_T,
            0, comm);
    stats_reduce(stats, comm);
    if (job->rank == 0)
        print(job, &sum, rows, stats, seconds);
    free(rows);
    return sum.files;
}
