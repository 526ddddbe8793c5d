/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals of the call engine, and the disconnect of all
 * ranks. */
#ifndef AMG_MPI_BACKEND_MPI_MSG_H
#define AMG_MPI_BACKEND_MPI_MSG_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_msgbuf.h"

extern const struct amg_calls_ops amg_mpi_calls_ops;

/* The slots of the contract. */
hg_return_t amg_mpi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
void amg_mpi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_mpi_msg_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_mpi_msg_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
hg_return_t amg_mpi_msg_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
void amg_mpi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_mpi_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_msg_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_msg_on_reply_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_msg_on_refuse_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

void amg_mpi_msg_on_pack_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Tells the origin of the request that this rank will not serve it. */
void amg_mpi_msg_refuse_locked(
    struct amg_mpi_domain *domain, struct amg_arrival *arrival);

/* Whether a rank owes this rank the answer to a request, or the credit of a
 * one-way request. Calls that were cancelled do not count. */
bool amg_mpi_msg_is_pending_locked(struct amg_mpi_domain *domain);

/* When `ep` closes: ends all its requests and replies as canceled. */
void amg_mpi_msg_drop_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_ep *ep);

/* Disconnect of all ranks: mpi_disconnect.c */

/* Handler of received messages; takes the msgbuf. */
void amg_mpi_disconnect_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Sends the disconnect messages that are due, also while the class is open. */
void amg_mpi_disconnect_move_locked(struct amg_mpi_domain *domain);
/* Logs the missing ranks. `is_over`: this rank gives up. */
void amg_mpi_disconnect_log_locked(
    const struct amg_mpi_domain *domain, bool is_over);

#endif
