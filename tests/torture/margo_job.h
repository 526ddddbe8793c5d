/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances of Margo over a communicator: margo_job_mpi.c or, in a build
 * without MPI, margo_job_none.c. */
#ifndef TESTS_TORTURE_MARGO_JOB_H
#define TESTS_TORTURE_MARGO_JOB_H

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

margo_instance_id mt_job_open(
    const char *transport, const struct margo_init_info *info);
hg_return_t mt_job_addr(
    margo_instance_id mid, unsigned rank, hg_addr_t *ret_addr);

#ifdef __cplusplus
}
#endif

#endif
