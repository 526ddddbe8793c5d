/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of a communicator: opening, ranks, addresses and library memory. */
#ifndef AMG_COMM_CLASS_H
#define AMG_COMM_CLASS_H

#include <mpi.h>
#include <stdbool.h>

/* An intracommunicator that can be duplicated; if not, the log says why. */
bool amg_comm_is_valid(MPI_Comm comm);

#endif
