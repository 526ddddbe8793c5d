/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine and the software that figures were measured with. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

enum { MACHINE_TEXT_CAP = 256 };

struct machine {
    char host[MACHINE_TEXT_CAP];
    char cpu[MACHINE_TEXT_CAP];
    char kernel[MACHINE_TEXT_CAP];
    long cores;      /* that are online */
    long memory_mib; /* of the node */
    const char *amalgam;
    char mpi[MACHINE_TEXT_CAP];
    char libfabric[MACHINE_TEXT_CAP]; /* "none" where the build has it not */
    char hwloc[MACHINE_TEXT_CAP];
    const char *compiler;
    const char *build; /* its kind */
};

/* Of this process, between the start and the end of MPI. */
void machine_read(struct machine *ret_machine);
/* The same for libraries that are loaded when they are needed. */
void machine_read_loaded(struct machine *machine);

#endif
