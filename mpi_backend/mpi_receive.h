/* SPDX-License-Identifier: BSD-3-Clause */
/* The posted receives of an endpoint, and messages that none was posted for. */
#ifndef AMG_MPI_BACKEND_MPI_RECEIVE_H
#define AMG_MPI_BACKEND_MPI_RECEIVE_H

#include "mpi_backend/mpi_domain.h"

/* A message that came in; the slab is the receiver's. */
struct amg_mpi_message {
    struct amg_mpi_slab *slab;
    struct amg_mpi_ep *ep; /* where it came in; NULL: at no open endpoint */
    uint32_t rank;
    uint32_t len; /* of the body */
};

/* Posts what is missing. No memory or no MPI: fewer, and more next time. */
void amg_mpi_receive_fill_locked(struct amg_mpi_ep *ep);

/* The next whole message of the endpoint; false: none has come. `has_more`:
 * one came just now, so that further ones are likely. */
bool amg_mpi_receive_next_locked(
    struct amg_mpi_ep *ep, bool has_more, struct amg_mpi_message *ret_message);

/* Takes the oldest posted receive back. False: none is left. `ret_message`
 * has a slab when a message came first. May wait for MPI, not for a peer. */
bool amg_mpi_receive_unpost_locked(
    struct amg_mpi_ep *ep, struct amg_mpi_message *ret_message);

/* Looks for a message to a context that is not open here, or to the domain
 * itself. False: none; or one of `*ret_backlog` stands in front, an open
 * endpoint (else NULL) that has to take its messages first. */
bool amg_mpi_receive_stray_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_message *ret_message, struct amg_mpi_ep **ret_backlog);

#endif
