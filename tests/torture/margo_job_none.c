/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without MPI has no instances over a communicator. */
#include "margo_job.h"

margo_instance_id mt_job_open(
    const char *transport, const struct margo_init_info *info)
{
    (void)transport;
    (void)info;
    return MARGO_INSTANCE_NULL;
}

hg_return_t mt_job_addr(
    margo_instance_id mid, unsigned rank, hg_addr_t *ret_addr)
{
    (void)mid;
    (void)rank;
    (void)ret_addr;
    return HG_OPNOTSUPPORTED;
}
