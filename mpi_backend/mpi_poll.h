/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: received messages, and operations in flight. */
#ifndef AMG_MPI_BACKEND_MPI_POLL_H
#define AMG_MPI_BACKEND_MPI_POLL_H

#include "mpi_backend/mpi_domain.h"

/* The slot of the contract. */
unsigned amg_mpi_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);

/* Makes progress on the whole domain: all its endpoints, and unmatched
 * messages. The results wait for the next polls of the endpoints. Returns the
 * number of messages. */
unsigned amg_mpi_poll_domain_locked(struct amg_mpi_domain *domain);

/* One round of a wait: makes progress on the whole domain, and releases the
 * lock for a moment. `looks`, 0 at first, counts the rounds that found
 * nothing. */
void amg_mpi_poll_wait_locked(
    struct amg_mpi_domain *domain, unsigned *idle_rounds);

/* Cancels the endpoint's receives; requests received meanwhile are refused. */
void amg_mpi_poll_unpost_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep);

/* Frees the endpoints that threads without MPI have closed. */
void amg_mpi_poll_orphans_locked(struct amg_mpi_domain *domain);

#endif
