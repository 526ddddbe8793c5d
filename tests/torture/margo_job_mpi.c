/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances of Margo over a communicator. */
#include "amalgam_margo.h"
#include "margo_job.h"

margo_instance_id mt_job_open(
    const char *transport, const struct margo_init_info *info)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    mid = amalgam_margo_init(comm, transport, info);
    MPI_Comm_free(&comm);
    return mid;
}

hg_return_t mt_job_addr(
    margo_instance_id mid, unsigned rank, hg_addr_t *ret_addr)
{
    return amalgam_addr_rank(margo_get_class(mid), (int)rank, ret_addr);
}
