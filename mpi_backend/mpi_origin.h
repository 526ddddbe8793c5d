/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulated put and get, on the side of who asked for them. */
#ifndef AMG_MPI_BACKEND_MPI_ORIGIN_H
#define AMG_MPI_BACKEND_MPI_ORIGIN_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_receive.h"

/* Bytes of one transfer, for the pool. */
size_t amg_mpi_origin_transfer_len(void);

/* The slots of the contract. */
hg_return_t amg_mpi_origin_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const void *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);
hg_return_t amg_mpi_origin_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, void *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);

/* What came in; each takes the message's slab. */
void amg_mpi_origin_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_go_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Moves all transfers that have something to do. */
void amg_mpi_origin_move_locked(struct amg_mpi_domain *domain);

/* Asks that `op`, a put or get, ends early. */
void amg_mpi_origin_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op);
/* The same for all of `ep` (NULL: of all). True: one of them still uses its
 * user's memory. `is_late`: peers had their time to answer. */
bool amg_mpi_origin_drop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep, bool is_late);
/* The time is over: ends the operations although MPI may use their memory. */
void amg_mpi_origin_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep);
/* At close: forgets what peers never answered. Returns how many. */
unsigned amg_mpi_origin_forget_locked(struct amg_mpi_domain *domain);

#endif
