/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at the communicator that a program gives. */
#ifndef AMG_COMM_GIVEN_H
#define AMG_COMM_GIVEN_H

#include <mpi.h>
#include <stdbool.h>

/* An intracommunicator that can be duplicated; if not, the log says why. */
bool amg_comm_is_valid(MPI_Comm comm);

#endif
