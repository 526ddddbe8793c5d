/* SPDX-License-Identifier: BSD-3-Clause */
/* How a datatype was made: the call that did, and its arguments.
 *
 * MPI gives the arguments as three lists, and which number stands in which list
 * depends on whether the call was one of MPI-4's for large counts. The
 * functions below know; `i` counts as in the table of MPI's standard for the
 * old call. */
#ifndef AMG_COMM_CONTENTS_H
#define AMG_COMM_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"

/* Owned by who read it. Types that are not predefined are its own shares. */
struct amg_comm_contents {
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

/* Reads a type that MPI knows. HG_NOMEM, or HG_NA_ERROR when MPI fails. */
hg_return_t amg_comm_contents_read(
    MPI_Datatype type, struct amg_comm_contents *ret_contents);
/* Did a call of MPI make it? Then each share of it has to be freed. */
bool amg_comm_contents_is_derived(MPI_Datatype type);
void amg_comm_contents_fini(struct amg_comm_contents *contents);

/* A number of things or of elements: the i-th such argument. */
int64_t amg_comm_contents_count(
    const struct amg_comm_contents *contents, int64_t i);
/* A number of bytes, which follows `before` of the others. */
int64_t amg_comm_contents_bytes(
    const struct amg_comm_contents *contents, int64_t before, int64_t i);

/* The two questions to MPI, for the functions above. They are in
 * contents_read.c; where MPI is older than MPI-4, in contents_read3.c. Both
 * return MPI's code. */

/* What made it, and how long the lists are; `*ret_contents` is zeros. */
int amg_comm_contents_envelope(
    MPI_Datatype type, struct amg_comm_contents *ret_contents);
/* Writes the lists, for which there is room. */
int amg_comm_contents_lists(
    MPI_Datatype type, const struct amg_comm_contents *contents);

#endif
