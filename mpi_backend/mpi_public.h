/* SPDX-License-Identifier: BSD-3-Clause */
/* What other modules use of the MPI driver besides the contract. */
#ifndef AMG_MPI_BACKEND_MPI_PUBLIC_H
#define AMG_MPI_BACKEND_MPI_PUBLIC_H

#include <mpi.h>

#include "boot/node.h"
#include "transport/transport.h"

extern const struct amg_transport amg_mpi_transport;
/* The ranks of this node; of domains that amg_mpi_transport opened. */
extern const struct amg_node_ops amg_mpi_node;

/* What a domain is opened over that names no communicator; MPI_COMM_NULL: the
 * world again. The caller's, while domains are being opened. HG_INVALID_ARG: an
 * intercommunicator. */
hg_return_t amg_mpi_world_set(MPI_Comm comm);

/* `domain` is one that amg_mpi_transport opened. No function here but the
 * barrier's sends. */

/* The peer of a rank of the domain's communicator, in constant time; it lives
 * as long as the domain. HG_INVALID_ARG: no such rank. */
hg_return_t amg_mpi_peer_of_rank(
    struct amg_domain *domain, int rank, struct amg_peer **ret_peer);
int amg_mpi_rank_of_peer(
    const struct amg_domain *domain, const struct amg_peer *peer);
int amg_mpi_size(const struct amg_domain *domain);
/* The domain's own duplicate: it may be asked, and used for collective calls
 * while the domain opens; no messages may be sent over it. */
MPI_Comm amg_mpi_comm(const struct amg_domain *domain);
/* Between them, who is not of this folder may call MPI: beside no other call of
 * ours where MPI_THREAD_SERIALIZED wants that. Not for what waits for a peer.
 * HG_OPNOTSUPPORTED: this thread must not; there is nothing to end. */
hg_return_t amg_mpi_turn_begin(const struct amg_domain *domain);
void amg_mpi_turn_end(const struct amg_domain *domain);

/* A barrier of all ranks of the domain. begin() enters one, or goes on with one
 * that was left before it was over, and look() tells whether all have come.
 * HG_AGAIN: not yet; HG_BUSY: a barrier has begun, and not ended;
 * HG_OPNOTSUPPORTED: this thread may not call MPI; HG_NA_ERROR. What begin()
 * refused needs no end(). */
hg_return_t amg_mpi_barrier_begin(struct amg_domain *domain);
hg_return_t amg_mpi_barrier_look(struct amg_domain *domain);
void amg_mpi_barrier_end(struct amg_domain *domain);

#endif
