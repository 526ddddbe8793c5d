/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of classes that Mercury's calls open; needs libamalgam_mpi.
 *
 * A program that may use amalgam.h has amalgam_init(), which takes the
 * communicator of each class and keeps nothing for the process. */
#ifndef NA_MPI_H
#define NA_MPI_H

#include <mpi.h>

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set the communicator, in place of MPI_COMM_WORLD, of all classes that
 * HG_Init(), NA_Initialize() and their forms open over MPI from now on.
 *
 * Opening a class is collective over it then, and so is closing it. Classes
 * that are open already stay as they are.
 *
 * @param intra_comm  [in]  MPI_COMM_NULL: MPI_COMM_WORLD again
 * Owns:      the communicator stays the caller's, and must live while classes
 *            are being opened; an open class needs it no more.
 * Errors:    NA_INVALID_ARG an intercommunicator; the choice is as before
 * Threads:   any thread that may call MPI; never blocks.
 * Undefined: a class being opened at the same time.
 * Source:    as Mercury 2.4, but there it is the ranks of one side only.
 */
NA_PUBLIC na_return_t NA_MPI_Set_init_intra_comm(MPI_Comm intra_comm);

#ifdef __cplusplus
}
#endif

#endif
