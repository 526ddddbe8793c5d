/* SPDX-License-Identifier: BSD-3-Clause */
/* Posted receives of an endpoint, and messages that match none. */
#ifndef AMG_MPI_BACKEND_MPI_RECEIVE_H
#define AMG_MPI_BACKEND_MPI_RECEIVE_H

#include "mpi_backend/mpi_domain.h"

/* A received message; the msgbuf is the receiver's. */
struct amg_mpi_message {
    struct amg_mpi_msgbuf *msgbuf;
    struct amg_mpi_ep *ep; /* its endpoint; NULL: none is open */
    uint32_t rank;
    uint32_t len; /* of the body */
};

/* Posts the missing receives. Without memory or if MPI fails: fewer, and the
 * rest next time. */
void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep);

/* The next complete message of the endpoint; false: none. `has_more`: one was
 * just received, so further ones are likely. */
bool amg_mpi_receive_next_locked(
    struct amg_mpi_ep *ep, bool has_more, struct amg_mpi_message *ret_message);

/* Cancels the oldest posted receive. False: none is left. `ret_message` has a
 * msgbuf when a message came first. May wait for MPI, not for a peer. */
bool amg_mpi_receive_unpost_locked(
    struct amg_mpi_ep *ep, struct amg_mpi_message *ret_message);

/* Probes for a message to a context that is not open here, or to the domain
 * itself. False: none; or a message of the open endpoint `*ret_backlog` (else
 * NULL) is in front of it and must be received first. */
bool amg_mpi_receive_unmatched_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_message *ret_message, struct amg_mpi_ep **ret_backlog);

#endif
