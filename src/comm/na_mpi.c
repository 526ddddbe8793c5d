/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of classes that are opened without one. */
#include "na_mpi.h"

#include "mpi_backend/mpi_public.h"

na_return_t NA_MPI_Set_init_intra_comm(MPI_Comm intra_comm)
{
    return amg_mpi_world_set(intra_comm) == HG_SUCCESS ? NA_SUCCESS
                                                       : NA_INVALID_ARG;
}
