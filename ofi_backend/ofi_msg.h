/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals, for the call engine. */
#ifndef AMG_OFI_BACKEND_OFI_MSG_H
#define AMG_OFI_BACKEND_OFI_MSG_H

#include "ofi_backend/ofi_domain.h"

/* A message in its receive buffer. */
struct amg_ofi_message {
    struct amg_peer *peer; /* NULL: not given (CONNECT) */
    const struct amg_ofi_header *header;
    const unsigned char *body;
    uint32_t len; /* of the body */
};

void amg_ofi_msg_init(struct amg_ofi_domain *domain, uint16_t credits);

/* The slots of the contract. */
hg_return_t amg_ofi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
void amg_ofi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_ofi_msg_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op);
hg_return_t amg_ofi_msg_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
void amg_ofi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_ofi_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

/* Handlers of messages. */
void amg_ofi_msg_on_request_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_msg_on_reply_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_msg_on_refuse_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);

/* `count` credits came back: sends requests that waited for them. */
void amg_ofi_msg_credit_locked(struct amg_peer *peer, uint16_t count);

/* Ends all requests and replies of an endpoint that is closing as canceled. */
void amg_ofi_msg_drop_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep);
/* The peer is lost: all messages to it end, and no credit is taken or owed any
 * more. */
void amg_ofi_msg_lost_locked(struct amg_peer *peer);
/* Refuses arrivals of an endpoint that will not be polled again. */
void amg_ofi_msg_refuse_all_locked(struct amg_ofi_ep *ep);

#endif
