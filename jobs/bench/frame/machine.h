/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine, the software and the ranks that figures were measured with. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include "jobs/bench/frame/world.h"

enum { MACHINE_TEXT_CAP = 256, MACHINE_NAME_CAP = 64 };

struct machine {
    char host[MACHINE_TEXT_CAP];
    char cpu[MACHINE_TEXT_CAP];
    char kernel[MACHINE_TEXT_CAP];
    long cores;      /* that are online */
    long memory_mib; /* of the node */
    const char *amalgam;
    char mpi[MACHINE_TEXT_CAP];
    const char *libfabric; /* built with, as the next; "none": without */
    const char *hwloc;
    const char *compiler;
    const char *build; /* its kind */
};

struct machine_rank {
    char host[MACHINE_NAME_CAP];
    char cores[MACHINE_NAME_CAP];    /* that it may use: "3", "0-3,8" */
    char progress[MACHINE_NAME_CAP]; /* what moves its messages; "": unknown */
};

/* Of this process, between the start and the end of MPI. */
void machine_read(struct machine *ret_machine);
/* Collective over all ranks. Rank 0 gets them all, to be freed by free();
 * others, and rank 0 without memory, get NULL. */
struct machine_rank *machine_ranks(const struct world *world);
/* By a process that has a context open: who makes progress in it. */
void machine_progress(char *ret_text, size_t cap);

#endif
