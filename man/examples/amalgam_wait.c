/* SPDX-License-Identifier: BSD-3-Clause */
/* A reduction of all ranks, during which this rank answers the calls of ranks
 * that have not begun it. MPI_Allreduce would let them wait. */
#include <amalgam.h>

hg_return_t sum_of_ranks(hg_class_t *hg_class, double *value)
{
    MPI_Request request;
    hg_return_t ret = HG_TIMEOUT;

    MPI_Iallreduce(
        MPI_IN_PLACE, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    while (ret == HG_TIMEOUT)
        ret = amalgam_wait(hg_class, &request, 1000, MPI_STATUS_IGNORE);
    return ret;
}
