/* SPDX-License-Identifier: BSD-3-Clause */
/* Names ranks that answer nothing while calls or transfers wait for them. */
#ifndef AMG_MPI_BACKEND_MPI_WATCH_H
#define AMG_MPI_BACKEND_MPI_WATCH_H

#include "mpi_backend/mpi_domain.h"

/* Something came from `rank`. */
static inline void amg_mpi_watch_hear_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    domain->peers[rank].is_heard = true;
    domain->watch.heard++;
}

/* Called now and then: looks when it is time. */
void amg_mpi_watch_locked(struct amg_mpi_domain *domain);

#endif
