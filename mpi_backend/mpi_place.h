/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting place of the ranks of a node while a domain opens. */
#ifndef AMG_MPI_BACKEND_MPI_PLACE_H
#define AMG_MPI_BACKEND_MPI_PLACE_H

#include "mpi_backend/mpi_comm.h"

struct amg_mpi_place;

/* Enters this rank of `comm` into the place called `number`, a number equal on
 * the ranks of a node, and different in each opening. A rank that fails is
 * alone, and the log says why. NULL: out of memory. */
struct amg_mpi_place *amg_mpi_place_enter(
    const struct amg_mpi_comm *comm, uint64_t number);
/* After all ranks have entered, and passed a barrier: finds the ranks of this
 * node, and sets the fields `node_*` and `must_yield` of `comm`. */
void amg_mpi_place_settle(
    struct amg_mpi_place *place, struct amg_mpi_comm *comm);

/* Two functions that are collective over the node; `len` is equal on all ranks,
 * and the result is a code of MPI. A waiting rank calls MPI at times, as MPI
 * may send an earlier message only in such a call (MPICH over libfabric). */

/* See amg_boot_ops. `ret_all` NULL: this rank only contributes. */
int amg_mpi_place_allgather(
    struct amg_mpi_place *place, const void *mine, size_t len, void *ret_all);
int amg_mpi_place_bcast(
    struct amg_mpi_place *place, void *bytes, size_t len, int root);
/* NULL is allowed. */
void amg_mpi_place_leave(struct amg_mpi_place *place);

#endif
