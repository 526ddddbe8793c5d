/* SPDX-License-Identifier: BSD-3-Clause */
/* From an MPI datatype to the bytes it names. */
#ifndef AMG_COMM_FLATTEN_H
#define AMG_COMM_FLATTEN_H

#include <mpi.h>

#include "comm/layout.h"

/* The layout of one element of a type that MPI knows; the caller's, for fini.
 * Errors as in layout.h, and HG_OPNOTSUPPORTED: MPI made the type by a call
 * that is not known here; HG_NA_ERROR: MPI failed. */
hg_return_t amg_comm_type_flatten(
    MPI_Datatype type, struct amg_comm_layout *ret_layout);

/* The distance from one element to the next. */
int64_t amg_comm_type_extent(MPI_Datatype type);

#endif
