/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls and bulk data until an interrupt, for
 * interrupted_job_leaves_nothing.sh; prints which process is in the middle. */
#include <unistd.h>

#include "ranks.h"

int main(void)
{
    struct ranks all;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    printf("process %ld is in the middle\n", (long)getpid());
    fflush(stdout);
    for (;;)
        ranks_exchange(&all);
}
