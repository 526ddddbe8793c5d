/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of a communicator: opening, ranks, addresses and library memory. */
#ifndef AMG_MPI_API_CLASS_H
#define AMG_MPI_API_CLASS_H

#include <mpi.h>
#include <stdbool.h>

/* Is it an intracommunicator that can be duplicated? If not, logs the cause. */
bool amg_mpi_api_is_valid(MPI_Comm comm);

#endif
