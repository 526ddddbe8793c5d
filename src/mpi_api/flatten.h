/* SPDX-License-Identifier: BSD-3-Clause */
/* Flattening of MPI datatypes into runs of bytes. */
#ifndef AMG_MPI_API_FLATTEN_H
#define AMG_MPI_API_FLATTEN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi_api/layout.h"
#include "mercury_core_types.h"

/* MPI returns the arguments in lists; the list of a number depends on whether
 * the call was one of MPI-4 for large counts. The functions below hide that;
 * `i` counts as in the table of the MPI standard for the old call. */

/* Owned by the reader, with references to the types that are not predefined. */
struct amg_mpi_api_contents {
    int combiner;  /* MPI_COMBINER_VECTOR, ... */
    bool is_large; /* made by a call with large counts */
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    MPI_Datatype *types;
    int64_t int_count;
    int64_t addr_count;
    int64_t count_count;
    int64_t type_count; /* 0: no element types, and no lists */
    void *block;        /* memory of the four lists */
};

/* The two calls of MPI for the functions above, in contents_read.c, or
 * contents_read3.c before MPI-4. Both return the code of MPI. */

/* Reads the constructor, and the lengths of the lists; `*ret_contents` is
 * zeroed. */
int amg_mpi_api_contents_envelope(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents);
/* Writes the lists, which are allocated. */
int amg_mpi_api_contents_lists(
    MPI_Datatype type, const struct amg_mpi_api_contents *contents);

/* Layout of one element of a valid type; the caller calls fini. Errors as in
 * layout.h, and HG_OPNOTSUPPORTED: an unknown constructor; HG_NA_ERROR: MPI
 * failed. */
hg_return_t amg_mpi_api_type_flatten(
    MPI_Datatype type, struct amg_mpi_api_layout *ret_layout);

/* The distance from one element to the next. */
int64_t amg_mpi_api_type_extent(MPI_Datatype type);

#endif
