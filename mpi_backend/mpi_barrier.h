/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier of all ranks of a domain, whose wait may be interrupted and
 * resumed. */
#ifndef AMG_MPI_BACKEND_MPI_BARRIER_H
#define AMG_MPI_BACKEND_MPI_BARRIER_H

#include "mpi_backend/mpi_domain.h"

void amg_mpi_barrier_init(struct amg_mpi_barrier *barrier);

/* The domain closes. False: ranks never entered it, and the communicator of
 * messages must stay allocated. */
bool amg_mpi_barrier_fini_locked(struct amg_mpi_domain *domain);

#endif
