/* SPDX-License-Identifier: BSD-3-Clause */
/* Received requests, replies and refusals. */
#ifndef AMG_SHM_SHM_MSG_H
#define AMG_SHM_SHM_MSG_H

#include "shm/shm_domain.h"

/* Publishes the read position of a ring, and wakes a writer that waits for
 * room. */
void amg_shm_inring_report(struct amg_shm_inring *ring);

/* Moves behind the next `cells` cells of the ring, which were read. */
static inline void amg_shm_inring_pop(
    struct amg_shm_inring *ring, uint32_t cells)
{
    if (!AMG_LIKELY(!amg_shm_in_pop(&ring->in, cells)))
        amg_shm_inring_report(ring);
}

/* Whether an active ring from index `*at` on has cells; moves `*at` to it. */
static AMG_INLINE bool amg_shm_inbox_find(
    const struct amg_shm_inbox *inbox, uint32_t *at)
{
    while (*at < inbox->active_count) {
        if (amg_shm_in_has(&inbox->active[*at]->in))
            return true;
        (*at)++;
    }
    return false;
}

hg_return_t amg_shm_msg_init(struct amg_shm_domain *domain);
/* Drops the replies to cancelled calls that no poll has taken, and frees all
 * arrivals. */
void amg_shm_msg_fini_locked(struct amg_shm_domain *domain);
/* Arrivals that are not free: received calls and answers. */
size_t amg_shm_msg_held_locked(const struct amg_shm_domain *domain);

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
