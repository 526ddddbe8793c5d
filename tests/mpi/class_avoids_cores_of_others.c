/* SPDX-License-Identifier: BSD-3-Clause */
/* A class over some ranks of a job treats no core as idle to which other ranks
 * of the job may be bound; a class over all ranks does. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <sched.h>
#include <stdlib.h>

#include "ranks.h"

/* Binds to the first core that this process may use, as a launcher does. */
static void first_core_bind(void)
{
    cpu_set_t set;
    int cpu = 0;

    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* Opens a class, whose log must have the text, and creates no context. */
static void class_try(MPI_Comm comm, const char *says)
{
    FILE *log = ranks_log_catch("info");
    hg_class_t *cls = amalgam_init(comm, NULL, NULL);

    CHECK(cls != NULL);
    CHECK(ranks_log_has(log, says));
    OK(amalgam_finalize(cls));
    HG_Set_log_stream("info", stderr);
    fclose(log);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    first_core_bind();
    class_try(MPI_COMM_WORLD, "; mode thread (idle core); waiting: ");
    class_try(MPI_COMM_SELF, "progress: in application calls only (no idle "
                             "core: 1 rank on 1 core); waiting: ");
    return ranks_stop();
}
