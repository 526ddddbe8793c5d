/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: sending and receiving. */
#ifndef AMG_SHM_SHM_MSG_H
#define AMG_SHM_SHM_MSG_H

#include "shm/shm_domain.h"

/* Outgoing messages, sent in a cell or a msgbuf, or queued (shm_send.c). */

hg_return_t amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits);
void amg_shm_send_fini(struct amg_shm_domain *domain);

static inline struct amg_shm_arrival *amg_shm_arrival_of(
    const struct amg_arrival *arrival)
{
    return amg_container_of(arrival, struct amg_shm_arrival, base);
}

/* Header of a message to a context of a peer. */
struct amg_shm_msg_header {
    uint8_t kind;
    uint8_t origin_context;
    uint8_t target_context;
    uint32_t cookie;
};

/* Lets the next poll of the operation's endpoint return the operation, and
 * wakes the owner of the endpoint. */
void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret);

/* Sends up to AMG_SHM_INLINE bytes, without a credit; without room the message
 * is queued in order. HG_NOMEM; HG_HOSTUNREACH: the peer closed or died;
 * HG_NOENTRY: the peer has no such context. */
hg_return_t amg_shm_send_short_locked(struct amg_shm_peer *peer,
    const struct amg_shm_msg_header *header, const void *bytes, uint16_t len);

/* Sends a buf that had to wait, and takes it. False: there is no room. */
bool amg_shm_send_buf_locked(struct amg_shm_buf *buf);

/* Messages that wait, which polls try to send again (shm_deferred.c). */

/* Sends queued messages and owed credits, as far as there is room. */
void amg_shm_send_deferred_locked(struct amg_shm_domain *domain);

/* Before blocking with unsent messages: asks the peers to wake this process
 * when there is room. The caller then executes a fence and checks again. */
void amg_shm_send_ask_for_room_locked(struct amg_shm_domain *domain);

/* Whether a peer is to be retried: a message waits, or a wakeup failed. */
bool amg_shm_send_is_blocked_locked(const struct amg_shm_domain *domain);

/* The slots of the contract. */
hg_return_t amg_shm_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_shm_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);

bool amg_shm_request_now(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_shm_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
bool amg_shm_reply_now(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len);

/* Received requests, replies and refusals (shm_msg.c). */

hg_return_t amg_shm_msg_init(struct amg_shm_domain *domain);
void amg_shm_msg_fini(struct amg_shm_domain *domain);
/* Arrivals that are not free: received calls and answers. */
size_t amg_shm_msg_held_locked(const struct amg_shm_domain *domain);
/* Drops the replies to cancelled calls that no poll has taken. */
void amg_shm_msg_drop_late_locked(struct amg_shm_domain *domain);

/* Takes at most `max` (> 0) messages of the inbox, where the active ring at
 * index `at` is the first ring with cells; returns how many. `ep` is the
 * endpoint of the inbox and `events` the result of its running poll; `ep` and
 * `events` are NULL if the context is closed. */
unsigned amg_shm_msg_take_locked(struct amg_shm_inbox *inbox,
    struct amg_shm_ep *ep, uint32_t at, unsigned max,
    struct amg_events *events);
/* Takes messages of the inbox of `ep`; takes the lock. */
unsigned amg_shm_msg_take(struct amg_shm_ep *ep, uint32_t at, unsigned max,
    struct amg_events *events);

/* The slots of the contract. */
void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
