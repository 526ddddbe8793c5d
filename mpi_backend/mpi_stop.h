/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of ours that end early. */
#ifndef AMG_MPI_BACKEND_MPI_STOP_H
#define AMG_MPI_BACKEND_MPI_STOP_H

#include "mpi_backend/mpi_transfer.h"

/* Tells the peer that no piece follows; with `slab`, or one of the pool. */
void amg_mpi_stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_slab *slab);
/* A cancelled transfer: ends its operation as soon as MPI does not use the
 * user's memory, although the peer has not answered. */
void amg_mpi_stop_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);

/* A cancelled get whose peer gave no word in time takes its receives back. */
void amg_mpi_stop_withdraw_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Pieces are on their way to a get that took its receives back. */
void amg_mpi_stop_sink_locked(struct amg_mpi_transfer *transfer);

/* Asks that `op`, a put or get, ends early. */
void amg_mpi_stop_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op);
/* The same for all of `ep` (NULL: of all). True: one of them still uses its
 * user's memory. `is_late`: peers had their time to answer. */
bool amg_mpi_stop_drop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep, bool is_late);
/* The time is over: ends the operations although MPI may use their memory. */
void amg_mpi_stop_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep);
/* At close: forgets what peers never answered. Returns how many. */
unsigned amg_mpi_stop_forget_locked(struct amg_mpi_domain *domain);

#endif
