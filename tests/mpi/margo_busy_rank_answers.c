/* SPDX-License-Identifier: BSD-3-Clause */
/* With amalgam_margo_always_served, a rank answers calls while it computes and
 * while it sits in MPI_Barrier(), without a call of Margo of its own. */
#include "margo_ranks.h"

int main(void)
{
    struct mranks all;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, &amalgam_margo_always_served);
    MPI_Barrier(MPI_COMM_WORLD); /* all have registered their RPCs */
    if (all.rank == 0)
        while (atomic_load(&all.served) < (unsigned long)all.size - 1)
            ; /* it computes */
    else
        mranks_echo(&all, 0, 1);
    /* In the next barrier rank 0 is the first, and waits for the others. */
    if (all.rank != 0)
        mranks_echo(&all, 0, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    mranks_close(&all);
    return ranks_stop();
}
