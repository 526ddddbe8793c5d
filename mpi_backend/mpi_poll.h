/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: takes what came in, and moves along what is under way. */
#ifndef AMG_MPI_BACKEND_MPI_POLL_H
#define AMG_MPI_BACKEND_MPI_POLL_H

#include "mpi_backend/mpi_domain.h"

/* The slot of the contract. */
unsigned amg_mpi_poll(
    struct amg_ep *ep, unsigned max, struct amg_news *ret_news);

/* Moves the whole domain along: all its endpoints, and strays. What comes of
 * it waits for their next polls. Returns how many messages came. */
unsigned amg_mpi_poll_domain_locked(struct amg_mpi_domain *domain);

/* One look of somebody who waits: moves the whole domain along, and gives the
 * lock to others for a moment. `looks`, 0 at first, counts those in vain. */
void amg_mpi_poll_wait_locked(struct amg_mpi_domain *domain, unsigned *looks);

/* Takes the endpoint's receives back; requests that came in are refused. */
void amg_mpi_poll_unpost_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep);

/* Frees the endpoints that threads without MPI have closed. */
void amg_mpi_poll_orphans_locked(struct amg_mpi_domain *domain);

#endif
