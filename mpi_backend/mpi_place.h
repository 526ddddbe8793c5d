/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting place of the ranks of a node while a domain opens. */
#ifndef AMG_MPI_BACKEND_MPI_PLACE_H
#define AMG_MPI_BACKEND_MPI_PLACE_H

#include "mpi_backend/mpi_comm.h"

struct amg_mpi_place;

/* Enters this rank of `comm` into the place of that number, which is the same
 * for the ranks of a node and of no other opening. A rank that fails is alone,
 * and the log says why. NULL: out of memory. */
struct amg_mpi_place *amg_mpi_place_enter(
    const struct amg_mpi_comm *comm, uint64_t number);
/* Behind a barrier of all ranks, which have entered: finds those of this node,
 * for the fields `node_*` and `must_yield` of `comm`. */
void amg_mpi_place_settle(
    struct amg_mpi_place *place, struct amg_mpi_comm *comm);

/* Collective over the node, with the same `len`. They return codes of MPI,
 * which a rank that waits calls now and then: a message that it sent before may
 * need that to leave (MPICH over libfabric). */

/* As amg_boot_ops. `ret_all` NULL: for the other ranks only. */
int amg_mpi_place_allgather(
    struct amg_mpi_place *place, const void *mine, size_t len, void *ret_all);
int amg_mpi_place_bcast(
    struct amg_mpi_place *place, void *bytes, size_t len, int root);
/* NULL is allowed. */
void amg_mpi_place_leave(struct amg_mpi_place *place);

#endif
