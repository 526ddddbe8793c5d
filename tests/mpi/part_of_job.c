/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that the ranks of a part of the job take no core for idle that others
 * of the job may be bound to, and that those of all of it do. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <sched.h>
#include <stdlib.h>

#include "ranks.h"

/* As a launcher does: to the first core that this process may use. */
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

/* Opens a class, which must say so in the log, and makes no context. */
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
