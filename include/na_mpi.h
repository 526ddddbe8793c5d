/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of classes that HG_Init() etc. open; needs libamalgam_mpi.
 *
 * New programs call amalgam_init() of amalgam.h, which takes the communicator
 * of each class and has no setting for the process. */
#ifndef NA_MPI_H
#define NA_MPI_H

#include <mpi.h>

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set the communicator that replaces MPI_COMM_WORLD for all classes that
 * HG_Init(), NA_Initialize() and their forms open over MPI from now on.
 *
 * Opening and closing a class is then collective over that communicator.
 * Classes that are open already are not affected.
 *
 * @param intra_comm  [in]  MPI_COMM_NULL: MPI_COMM_WORLD again
 * Owns:      the communicator stays the caller's, and must live while classes
 *            are being opened; an open class does not need it.
 * Errors:    NA_INVALID_ARG intra_comm is an intercommunicator; the setting is
 *                           not changed
 * Threads:   any thread that may call MPI; never blocks.
 * Undefined: a class being opened at the same time.
 * Source:    as Mercury 2.4, but in Mercury the communicator has only servers,
 *            or only clients.
 */
NA_PUBLIC na_return_t NA_MPI_Set_init_intra_comm(MPI_Comm intra_comm);

#ifdef __cplusplus
}
#endif

#endif
