/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends what others may still be using: memory, endpoints, the domain. */
#ifndef AMG_MPI_BACKEND_MPI_CLOSE_H
#define AMG_MPI_BACKEND_MPI_CLOSE_H

#include "mpi_backend/mpi_domain.h"

/* The slots of the contract. */
hg_return_t amg_mpi_close_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
void amg_mpi_close_ep(struct amg_ep *ep, struct amg_news *ret_news);
hg_return_t amg_mpi_close_quiesce(struct amg_domain *domain);
void amg_mpi_close_abandon(struct amg_domain *domain);

/* Gives back all that MPI holds of the domain; after it MPI is not called for
 * the domain any more. Waits for peers at most a second. */
void amg_mpi_close_medium(struct amg_mpi_domain *domain);

#endif
