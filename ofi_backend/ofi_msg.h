/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: their buffers (msgbufs) and sends (ofi_send.c); requests, replies
 * and refusals, for the call engine (ofi_msg.c). */
#ifndef AMG_OFI_BACKEND_OFI_MSG_H
#define AMG_OFI_BACKEND_OFI_MSG_H

#include "ofi_backend/ofi_domain.h"

static inline struct amg_ofi_msgbuf *amg_ofi_msgbuf_of_buf(struct amg_buf *buf)
{
    return amg_container_of(buf, struct amg_ofi_msgbuf, buf);
}

static inline struct amg_ofi_msgbuf *amg_ofi_msgbuf_of_arrival(
    const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_pack_arrival, arrival)->whole;
}

static inline struct amg_ofi_header *amg_ofi_header_of(
    struct amg_ofi_msgbuf *msgbuf)
{
    return msgbuf->pack.count > 1 ? (void *)msgbuf->packed : &msgbuf->header;
}

/* Allocates the first block. HG_NOMEM, or the error of registering. */
hg_return_t amg_ofi_msgbuf_init_locked(struct amg_ofi_domain *domain);
void amg_ofi_msgbuf_fini_locked(struct amg_ofi_domain *domain);

/* NULL: no memory. */
struct amg_ofi_msgbuf *amg_ofi_msgbuf_get_locked(
    struct amg_ofi_domain *domain, bool is_long);
/* The msgbuf no longer counts in `longs` of its peer. */
static inline void amg_ofi_msgbuf_uncount_locked(struct amg_ofi_msgbuf *msgbuf)
{
    AMG_ASSERT(msgbuf->is_counted && msgbuf->peer->requests.longs > 0);
    msgbuf->is_counted = false;
    msgbuf->peer->requests.longs--;
}
/* Frees the msgbuf, and ends its reference to the peer. */
void amg_ofi_msgbuf_put_locked(struct amg_ofi_msgbuf *msgbuf);
/* An arrival or reply in the msgbuf ends; the last of them frees the msgbuf. */
static inline void amg_ofi_msgbuf_end_locked(struct amg_ofi_msgbuf *msgbuf)
{
    if (amg_pack_unshare(&msgbuf->others))
        amg_ofi_msgbuf_put_locked(msgbuf);
}

/* Number of msgbufs that are not free. */
size_t amg_ofi_msgbuf_taken_locked(const struct amg_ofi_domain *domain);

/* Fills in the header, except cookie and token, for a body of `body_len` bytes
 * to context `target`. Takes a reference to the peer for the msgbuf. */
void amg_ofi_send_address_locked(struct amg_ofi_msgbuf *msgbuf,
    struct amg_peer *peer, uint8_t context, uint8_t target,
    enum amg_ofi_kind kind, uint32_t body_len);

/* Sends the message now, or with calls that follow, or when the peer is OPEN
 * and the provider has room. Takes the msgbuf, and ends its operation when the
 * message has left, was copied into the message of other calls, or failed. */
void amg_ofi_send_locked(struct amg_ofi_msgbuf *msgbuf);
/* Sends all messages that are kept for further calls. */
void amg_ofi_send_kept_locked(struct amg_ofi_domain *domain);

/* Sends a message of the driver. False: no memory, nothing was sent. */
bool amg_ofi_send_control_locked(struct amg_peer *peer,
    struct amg_ofi_header header, const void *body, uint32_t body_len);

/* Sends a result, for which the peer must not wait for ever: without memory for
 * the message, the next poll gives up all operations with the peer. The peer
 * notices that at its next CONNECT, whose ACCEPT has another token. */
void amg_ofi_send_answer_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target, enum amg_ofi_kind kind, uint32_t cookie, hg_return_t ret);

/* Posts a msgbuf. Not 0: libfabric's code, and the caller keeps the msgbuf. */
ssize_t amg_ofi_send_post_locked(struct amg_ofi_msgbuf *msgbuf);

/* The endpoint closes: ends its requests and replies with HG_CANCELED. */
void amg_ofi_send_drop_locked(const struct amg_ofi_ep *ep);
/* The peer is lost: ends the operations of all messages to the peer. */
void amg_ofi_send_lost_locked(struct amg_peer *peer);
/* Libfabric's endpoint is closed: no send is in flight any more. */
void amg_ofi_send_abandon_locked(struct amg_ofi_domain *domain);

extern const struct amg_calls_ops amg_ofi_calls_ops;

/* The slots of the contract. */
hg_return_t amg_ofi_msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
hg_return_t amg_ofi_msg_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);
void amg_ofi_msg_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_ofi_msg_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_ofi_msg_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
hg_return_t amg_ofi_msg_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
void amg_ofi_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_ofi_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

/* Handlers of messages. */
void amg_ofi_msg_on_request_locked(const struct amg_ofi_message *message);
void amg_ofi_msg_on_reply_locked(const struct amg_ofi_message *message);
void amg_ofi_msg_on_refuse_locked(const struct amg_ofi_message *message);

/* A copy of the message, which outlives the receive buffer. NULL: no memory. */
struct amg_ofi_msgbuf *amg_ofi_msg_copy_locked(
    const struct amg_ofi_message *message);

/* The peer is lost: all calls and messages to the peer end, and credits taken
 * from or owed to the peer are void. */
void amg_ofi_msg_lost_locked(struct amg_peer *peer);
/* Refuses arrivals of an endpoint that will not be polled again. */
void amg_ofi_msg_refuse_all_locked(struct amg_ofi_ep *ep);

#endif
