/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of messages: slabs of one length, kept for reuse. */
#ifndef AMG_MPI_BACKEND_MPI_SLAB_H
#define AMG_MPI_BACKEND_MPI_SLAB_H

#include "mpi_backend/mpi_domain.h"

/* Makes the first slabs. HG_NOMEM. */
hg_return_t amg_mpi_slab_init(struct amg_mpi_domain *domain);
/* Frees the kept ones; says how many are missing, if any are. */
void amg_mpi_slab_fini(struct amg_mpi_domain *domain);

/* NULL when there is no memory. */
struct amg_mpi_slab *amg_mpi_slab_get_locked(struct amg_mpi_domain *domain);
void amg_mpi_slab_put_locked(struct amg_mpi_slab *slab);

/* The same for a caller without the lock; takes it only when no slab is at
 * hand. */
struct amg_mpi_slab *amg_mpi_slab_get(struct amg_mpi_domain *domain);
void amg_mpi_slab_put(struct amg_mpi_slab *slab);

static inline struct amg_mpi_slab *amg_mpi_slab_of_buf(struct amg_buf *buf)
{
    return AMG_OBJECT(buf, struct amg_mpi_slab, buf);
}

static inline struct amg_mpi_slab *amg_mpi_slab_of_arrival(
    struct amg_arrival *arrival)
{
    return AMG_OBJECT(arrival, struct amg_mpi_slab, arrival);
}

#endif
