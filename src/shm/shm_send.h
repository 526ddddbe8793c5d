/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing messages: sent in a cell or a msgbuf, or queued. */
#ifndef AMG_SHM_SHM_SEND_H
#define AMG_SHM_SHM_SEND_H

#include "shm/shm_domain.h"

/* Header of a message to a context of a peer. */
struct amg_shm_note {
    uint8_t kind;
    uint8_t origin_context;
    uint8_t target_context;
    uint32_t cookie;
};

void amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits);

/* The next poll of its endpoint returns the operation; wakes the endpoint's
 * owner. */
void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret);

/* Sends up to AMG_SHM_INLINE bytes. Without room they are queued in order, in
 * memory of their own. HG_NOMEM; HG_HOSTUNREACH: the peer is gone; HG_NOENTRY:
 * the peer has no such context. */
hg_return_t amg_shm_send_word_locked(struct amg_shm_peer *peer,
    const struct amg_shm_note *note, const void *bytes, uint16_t len);

/* Sends queued messages and owed credits, as far as there is room. */
void amg_shm_send_errands_locked(struct amg_shm_domain *domain);

/* Before blocking with unsent messages: asks the peers to wake us when they
 * make room. The caller then fences and checks again. */
void amg_shm_send_wait_locked(struct amg_shm_domain *domain);

/* Whether a message waits to be sent. */
bool amg_shm_send_is_stuck_locked(const struct amg_shm_domain *domain);

/* The slots of the contract. */
hg_return_t amg_shm_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op);
hg_return_t amg_shm_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);

#endif
