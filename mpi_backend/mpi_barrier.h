/* SPDX-License-Identifier: BSD-3-Clause */
/* The barrier of all ranks of a domain, which may be left and come back to. */
#ifndef AMG_MPI_BACKEND_MPI_BARRIER_H
#define AMG_MPI_BACKEND_MPI_BARRIER_H

#include "mpi_backend/mpi_domain.h"

void amg_mpi_barrier_init(struct amg_mpi_barrier *barrier);

/* The domain closes. False: ranks never came, and MPI keeps the communicator of
 * messages for them. */
bool amg_mpi_barrier_fini_locked(struct amg_mpi_domain *domain);

#endif
