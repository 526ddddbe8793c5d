/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the MPI driver for other modules, besides the contract. */
#ifndef AMG_MPI_BACKEND_MPI_PUBLIC_H
#define AMG_MPI_BACKEND_MPI_PUBLIC_H

#include <mpi.h>
#include <stdbool.h>

#include "transport/boot.h"
#include "transport/transport.h"

extern const struct amg_transport amg_mpi_transport;
/* The job's ranks and nodes, for domains that amg_mpi_transport opened. */
extern const struct amg_node_ops amg_mpi_node;

/* Whether MPI is of the family that the library was built with, and is not
 * finalised, and `comm` is an intracommunicator. If not, logs the cause. */
bool amg_mpi_comm_is_usable(MPI_Comm comm);

/* Logs MPI's text for `code` and the failed action. Returns HG_NA_ERROR. */
hg_return_t amg_mpi_comm_error(int code, const char *what);

/* Sets the communicator of domains that are opened without one; MPI_COMM_NULL:
 * the world again. The caller owns the communicator, and keeps it while a
 * domain is opening. HG_INVALID_ARG: amg_mpi_comm_is_usable() is false. */
hg_return_t amg_mpi_world_set(MPI_Comm comm);

/* Below, `domain` is a domain that amg_mpi_transport opened. Only the functions
 * of the barrier send messages. */

/* The peer of a rank of the domain's communicator, in constant time. The peer
 * lives as long as the domain. HG_INVALID_ARG: no such rank. */
hg_return_t amg_mpi_peer_of_rank(
    struct amg_domain *domain, int rank, struct amg_peer **ret_peer);
int amg_mpi_rank_of_peer(
    const struct amg_domain *domain, const struct amg_peer *peer);
int amg_mpi_size(const struct amg_domain *domain);
/* The domain's duplicate of the communicator: may be queried, and used for
 * collective calls while the domain opens; send no messages over it. */
MPI_Comm amg_mpi_comm(const struct amg_domain *domain);
/* Between lock and unlock, code outside this folder may call MPI: at
 * MPI_THREAD_SERIALIZED, no other thread of the library does meanwhile. Not for
 * calls that wait for a peer. HG_OPNOTSUPPORTED: this thread must not call MPI;
 * do not unlock. */
hg_return_t amg_mpi_calls_lock(const struct amg_domain *domain);
void amg_mpi_calls_unlock(const struct amg_domain *domain);
/* Between lock and unlock: until the handlers are back, an error of a call that
 * names no communicator runs no error handler of the program. */
void amg_mpi_handlers_put_aside(void);
void amg_mpi_handlers_put_back(void);

/* A barrier of all ranks of the domain. begin() enters a barrier, or resumes
 * the pending one whose caller stopped waiting; look() tests whether all ranks
 * have entered. HG_AGAIN: not yet; HG_BUSY: another begin() has no end() yet;
 * HG_OPNOTSUPPORTED: this thread may not call MPI; HG_NA_ERROR: MPI failed, or
 * has ended meanwhile. After an error of begin(), do not call end(). */
hg_return_t amg_mpi_barrier_begin(struct amg_domain *domain);
hg_return_t amg_mpi_barrier_look(struct amg_domain *domain);
void amg_mpi_barrier_end(struct amg_domain *domain);

#endif
