/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator may be freed as soon as the class is open, and that classes
 * can be opened and closed many times. */
#include "ranks.h"

enum { TIMES = 40 };

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    for (int i = 0; i < TIMES; i++) {
        struct ranks all;
        MPI_Comm comm = MPI_COMM_NULL;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        ranks_open(&all, comm);
        MPI_Comm_free(&comm);
        ranks_exchange(&all);
        ranks_meet(MPI_COMM_WORLD);
        ranks_close(&all);
    }
    return ranks_stop();
}
