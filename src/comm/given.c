/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at the communicator that a program gives. */
#include "comm/given.h"

#include "base/log.h"

bool amg_comm_is_valid(MPI_Comm comm)
{
    int is_inter = 0;

    if (comm == MPI_COMM_NULL) {
        AMG_LOG_ERROR("cls", "the communicator is MPI_COMM_NULL");
        return false;
    }
    if (MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter) {
        AMG_LOG_ERROR("cls",
            "an intercommunicator: give an intracommunicator, for instance "
            "one by MPI_Intercomm_merge()");
        return false;
    }
    return true;
}
