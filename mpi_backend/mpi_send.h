/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs on their way out. */
#ifndef AMG_MPI_BACKEND_MPI_SEND_H
#define AMG_MPI_BACKEND_MPI_SEND_H

#include "mpi_backend/mpi_domain.h"

/* May this thread post to the domain at all? HG_NA_ERROR: MPI has ended.
 * HG_OPNOTSUPPORTED: MPI_THREAD_SINGLE, and this is another thread. */
hg_return_t amg_mpi_send_check(const struct amg_mpi_domain *domain);

/* Writes where the slab goes, and what it is. */
static inline void amg_mpi_send_address(struct amg_mpi_slab *slab,
    uint32_t rank, uint8_t context, enum amg_mpi_kind kind, uint32_t body_len)
{
    slab->rank = (int)rank;
    slab->tag = amg_mpi_tag(slab->domain, context);
    slab->len = (uint32_t)sizeof(slab->header) + body_len;
    slab->header.kind = (uint8_t)(AMG_MPI_MAGIC | kind);
}

/* Sends an addressed slab, and takes it; `slab->post.op` ends when it has left.
 * On an error the slab stays the caller's, and MPI's reason is logged. */
hg_return_t amg_mpi_send_locked(struct amg_mpi_slab *slab);

/* For messages of our own, which nobody waits for: takes the slab always. */
void amg_mpi_send_control_locked(struct amg_mpi_slab *slab, uint32_t rank,
    uint8_t context, enum amg_mpi_kind kind, uint32_t cookie,
    uint32_t body_len);

/* Asks MPI for those that had not left at once, and sends those that threads
 * without MPI have left here. Called by a thread that may call MPI. */
void amg_mpi_send_poll_locked(struct amg_mpi_domain *domain);

/* The same, once for each that is under way now. */
void amg_mpi_send_poll_all_locked(struct amg_mpi_domain *domain);

/* At close: leaves what MPI never finished to MPI. */
void amg_mpi_send_abandon_locked(struct amg_mpi_domain *domain);

#endif
