/* SPDX-License-Identifier: BSD-3-Clause */
/* Flattening of MPI datatypes into runs of bytes. */
#ifndef AMG_MPI_API_FLATTEN_H
#define AMG_MPI_API_FLATTEN_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi_api/layout.h"
#include "mercury_core_types.h"

/* MPI gives the arguments as three lists, and which number stands in which list
 * depends on whether the call was one of MPI-4's for large counts. The
 * functions below know; `i` counts as in the table of MPI's standard for the
 * old call. */

/* Owned by who read it. Types that are not predefined are its own shares. */
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
    int64_t type_count; /* 0: made of no other, and there are no lists */
    void *block;        /* where the four lists lie */
};

/* The two questions to MPI, for the functions above. They are in
 * contents_read.c; where MPI is older than MPI-4, in contents_read3.c. Both
 * return MPI's code. */

/* What made it, and how long the lists are; `*ret_contents` is zeros. */
int amg_mpi_api_contents_envelope(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents);
/* Writes the lists, for which there is room. */
int amg_mpi_api_contents_lists(
    MPI_Datatype type, const struct amg_mpi_api_contents *contents);

/* The layout of one element of a type that MPI knows; the caller's, for fini.
 * Errors as in layout.h, and HG_OPNOTSUPPORTED: MPI made the type by a call
 * that is not known here; HG_NA_ERROR: MPI failed. */
hg_return_t amg_mpi_api_type_flatten(
    MPI_Datatype type, struct amg_mpi_api_layout *ret_layout);

/* The distance from one element to the next. */
int64_t amg_mpi_api_type_extent(MPI_Datatype type);

#endif
