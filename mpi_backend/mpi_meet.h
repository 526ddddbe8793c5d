/* SPDX-License-Identifier: BSD-3-Clause */
/* Meeting of the ranks while a domain opens: their exchanges, and which ranks
 * share a node. */
#ifndef AMG_MPI_BACKEND_MPI_MEET_H
#define AMG_MPI_BACKEND_MPI_MEET_H

#include "mpi_backend/mpi_comm.h"
#include "mpi_backend/mpi_facts.h"

/* All functions are collective over the ranks they name, and the caller holds
 * the lock of MPI calls. HG_NA_ERROR: MPI failed, the log has the cause. */

/* Over `user`: reduces the greetings of all ranks, and finds the rank of this
 * process. HG_PROTOCOL_ERROR, on all ranks: the versions of the library differ,
 * and the log names two ranks. */
hg_return_t amg_mpi_meet_greet(MPI_Comm user, struct amg_mpi_greeting *greeting,
    struct amg_mpi_comm *comm);
/* Over `user`: makes the communicators of `comm`, and finds the ranks of this
 * node; `nonce` is equal on all ranks. HG_NOMEM, on this rank only: the caller
 * goes on to amg_mpi_meet_facts(). */
hg_return_t amg_mpi_meet_ranks(
    MPI_Comm user, uint64_t nonce, struct amg_mpi_comm *comm);
/* Over all ranks: reduces the facts, and keeps them in `comm`. HG_NOMEM, on all
 * ranks: a rank had no memory. */
hg_return_t amg_mpi_meet_facts(struct amg_mpi_comm *comm, bool has_failed);

/* Over all ranks: the first rank of each node receives the records of all ranks
 * (`len` bytes each) in `ret_all`, node by node, beginning with its own node;
 * the first node follows the last node. Other ranks do not use `ret_all`. A
 * record begins with a uint32_t that is equal within a node, and differs
 * between nodes. Returns a code of MPI. */
int amg_mpi_meet_collect(const struct amg_mpi_comm *comm, const void *mine,
    uint32_t len, void *ret_all);

#endif
