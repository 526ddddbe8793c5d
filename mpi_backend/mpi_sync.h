/* SPDX-License-Identifier: BSD-3-Clause */
/* SYNC: other ranks are asked to make progress, and say when they have. */
#ifndef AMG_MPI_BACKEND_MPI_SYNC_H
#define AMG_MPI_BACKEND_MPI_SYNC_H

#include "mpi_backend/mpi_receive.h"
#include "mpi_backend/mpi_rma.h"

/* The number of the next one; what it answers came after now. */
static inline uint32_t amg_mpi_sync_next(const struct amg_mpi_lane *lane)
{
    return lane->asked + 1;
}

/* Was it, or one after it, answered? */
static inline bool amg_mpi_sync_is_answered(
    const struct amg_mpi_lane *lane, uint32_t number)
{
    return (int32_t)(lane->answered - number) >= 0;
}

/* Sends the next one. False: one between the same contexts is out, or there is
 * no slab; the next poll tries again. */
bool amg_mpi_sync_ask_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_lane *lane, int rank, uint8_t context,
    uint8_t origin_context);

/* What came in; takes the message's slab. */
void amg_mpi_sync_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

#endif
