/* SPDX-License-Identifier: BSD-3-Clause */
/* The table at the end: what was done, and how fast. */
#ifndef CHECKPOINT_TABLE_H
#define CHECKPOINT_TABLE_H

#include <mpi.h>

#include "jobs/apps/checkpoint/job.h"
#include "jobs/apps/checkpoint/stats.h"

/* What a rank has done; zeros where it had no such role. */
struct table_row {
    uint64_t files; /* sent and verified */
    uint64_t bytes;
    uint64_t stored_files;
    uint64_t stored_bytes;
};

/* Collective: rank 0 prints the table of all ranks. `stats` is overwritten.
 * Returns the files sent by all ranks, on rank 0. */
uint64_t table_print(const struct job *job, const struct table_row *row,
    struct stats *stats, double seconds, MPI_Comm comm);

#endif
