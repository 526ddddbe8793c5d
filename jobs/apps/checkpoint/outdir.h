/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory that the servers write into. */
#ifndef CHECKPOINT_OUTDIR_H
#define CHECKPOINT_OUTDIR_H

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>

/* Owned by main(). */
struct outdir {
    char path[PATH_MAX];
    bool is_fresh; /* made by us, to be removed when all was verified */
    int fd;        /* on a server, else -1 */
};

/* Collective: takes `wanted`, or makes a fresh directory where that is NULL.
 * Servers make it if it is missing, and open it. False, on every rank: some
 * rank could not, and has said why. */
bool outdir_open(
    struct outdir *outdir, const char *wanted, bool is_server, MPI_Comm comm);
/* On a server: removes it with all that is in it. */
void outdir_remove(struct outdir *outdir);
void outdir_close(struct outdir *outdir);

#endif
