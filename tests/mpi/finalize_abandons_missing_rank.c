/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks abandon one that never ends: HG_TIMEOUT, a line that names it, and
 * they reach their own end. Run by apart.sh, a proxy for each rank, so that MPI
 * leaves the survivors alone. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "ranks.h"

int main(int argc, char **argv)
{
    struct ranks all;
    FILE *log = NULL;
    char named[32];
    int rank = 0;
    int missing = 0;

    CHECK(argc == 2); /* the rank that never ends */
    missing = atoi(argv[1]);
    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    log = ranks_log_catch("error");
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    if (rank == missing)
        raise(SIGKILL);
    ranks_leave(&all);
    EXPECT(HG_TIMEOUT, amalgam_finalize(all.cls));
    snprintf(named, sizeof(named), "rank %d", missing);
    CHECK(ranks_log_has(log, named));
    ranks_survived(missing);
}
