/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances abandon a rank that never ends: the log names it, and they reach
 * their own end. Run by apart.sh, a proxy for each rank, so that MPI leaves the
 * survivors alone. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "margo_ranks.h"

int main(int argc, char **argv)
{
    struct mranks all;
    FILE *log = NULL;
    char named[32];
    int missing = 0;

    CHECK(argc == 2); /* the rank that never ends */
    missing = atoi(argv[1]);
    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    mranks_open(&all, NULL);
    mranks_echo(&all, (all.rank + 1) % all.size, 1);
    if (all.rank == missing) {
        /* Serve until both other ranks were answered. */
        while (atomic_load(&all.served) == 0)
            margo_thread_sleep(all.mid, 1);
        raise(SIGKILL);
    }
    mranks_close(&all);
    snprintf(named, sizeof(named), "rank %d", missing);
    CHECK(ranks_log_has(log, named));
    ranks_survived(missing);
}
