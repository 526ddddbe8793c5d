/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this rank: posts and messages. */
#ifndef AMG_MPI_BACKEND_MPI_ORIGIN_H
#define AMG_MPI_BACKEND_MPI_ORIGIN_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_pipeline.h"

/* The slots of the contract. */
hg_return_t amg_mpi_origin_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_mpi_origin_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_origin_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_ready_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_origin_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Adds the pipelines of all transfers to a test. */
void amg_mpi_origin_test_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_batch *batch);
/* Continues all transfers on the moving list. */
void amg_mpi_origin_move_locked(struct amg_mpi_domain *domain);

#endif
