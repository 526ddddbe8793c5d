/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out: into a cell, into a slab, or into a queue. */
#ifndef AMG_SHM_SHM_SEND_H
#define AMG_SHM_SHM_SEND_H

#include "shm/shm_domain.h"

/* What is said to a context of a peer, besides the bytes. */
struct amg_shm_note {
    uint8_t kind;
    uint8_t origin_context;
    uint8_t target_context;
    uint32_t cookie;
};

void amg_shm_send_init(struct amg_shm_domain *domain, uint16_t credits);

/* The operation comes back with the next poll of its endpoint, whose owner is
 * woken. */
void amg_shm_send_end_locked(struct amg_op *op, hg_return_t ret);

/* Sends up to AMG_SHM_INLINE bytes. Where there is no room now it waits in
 * order, in memory of its own. HG_NOMEM; HG_HOSTUNREACH: the peer is gone;
 * HG_NOENTRY: the peer has no such context. */
hg_return_t amg_shm_send_word_locked(struct amg_shm_peer *peer,
    const struct amg_shm_note *note, const void *bytes, uint16_t len);

/* Sends what waited for room, and credits that are owed, as far as it goes. */
void amg_shm_send_errands_locked(struct amg_shm_domain *domain);

/* We are going to sleep while something waits to leave: whoever makes room is
 * to wake us. A fence and a look must follow. */
void amg_shm_send_wait_locked(struct amg_shm_domain *domain);

/* Does anything wait to leave? */
bool amg_shm_send_is_stuck_locked(const struct amg_shm_domain *domain);

/* The slots of the contract. */
hg_return_t amg_shm_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op);
hg_return_t amg_shm_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);

#endif
