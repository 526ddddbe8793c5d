/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving side of a context: its inbox, the rings of its senders, the polls
 * of its endpoint, the messages, and the liveness of the senders. Only the
 * progress owner calls functions of an open inbox; the caller holds the lock if
 * the name ends in _locked. */
#ifndef AMG_SHM_SHM_INBOX_H
#define AMG_SHM_SHM_INBOX_H

#include "shm/shm_domain.h"

/* Registers this process for the membarrier() of others; false: the kernel
 * lacks the call, or AMALGAM_SHM_FENCE turns the call off. */
bool amg_shm_has_membarrier(void);

/* Frees all inboxes, as the domain closes. */
void amg_shm_inbox_fini_locked(struct amg_shm_domain *domain);

/* Opens the inbox of a context; the first open creates the inbox. HG_NOMEM. */
hg_return_t amg_shm_inbox_open_locked(struct amg_shm_domain *domain,
    uint8_t context_id, struct amg_shm_inbox **ret_inbox);
/* Closes an inbox with its endpoint. Replies may still arrive. */
void amg_shm_inbox_close_locked(struct amg_shm_inbox *inbox);
/* Refuses requests to a context that was never open and never will be. */
void amg_shm_inbox_refuse_unopened_locked(
    struct amg_shm_domain *domain, uint8_t context_id);
/* Makes the FIFO of a context once; at `path` if the segment has a name. */
bool amg_shm_inbox_doorbell_make(struct amg_shm_inbox *inbox, const char *path);
/* Stops polling rings without new cells since the last call; 4 or more stay. */
void amg_shm_inbox_prune(struct amg_shm_inbox *inbox);
/* Stops polling all rings. False: a ring has a cell, or there is an event; then
 * polls go on with all rings. Fences all processes by membarrier if a ring was
 * POLLED, or if `must_fence`. */
bool amg_shm_inbox_prepare_block(struct amg_shm_inbox *inbox, bool must_fence);
/* Makes the ring active: polls read it. If the ring was active before, stores
 * POLLED, so that its writer sets no more events. False: no memory. */
bool amg_shm_inbox_activate(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring);
void amg_shm_inbox_drop_locked(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring);

/* Rings of the senders (shm_inring.c). */

/* Whether there are events for amg_shm_inrings_events_locked(). */
static inline bool amg_shm_inbox_has_events(const struct amg_shm_inbox *inbox)
{
    return atomic_load_explicit(
               &inbox->context->events, memory_order_relaxed) != 0;
}

/* Takes the events: activates rings with cells and opens new rings. NOTE(why):
 * opening a ring may map a peer, by system calls under the lock, but rarely. */
void amg_shm_inrings_events_locked(struct amg_shm_inbox *inbox);
/* Frees the empty rings with is_leaving. The next poll ends the calls that the
 * writers in state GONE have not answered. */
void amg_shm_inrings_reap_locked(struct amg_shm_inbox *inbox);

/* After the domain was marked closed: wakes the senders whose rings were never
 * opened. The caller wakes the known peers. */
void amg_shm_inrings_wake_unopened_locked(struct amg_shm_domain *domain);

/* Functions of the contract (shm_ep.c). */
hg_return_t amg_shm_ep_open(
    struct amg_domain *base, uint8_t context_id, struct amg_ep **ret_ep);
void amg_shm_ep_close(struct amg_ep *base, struct amg_events *ret_events);
hg_return_t amg_shm_ep_cancel(struct amg_ep *base, struct amg_op *op);
unsigned amg_shm_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);
int amg_shm_poll_fd(const struct amg_ep *ep);
bool amg_shm_poll_arm(struct amg_ep *ep);
bool amg_shm_poll_is_oversubscribed(struct amg_ep *ep);

/* Takes the messages of all closed contexts; `is_last`: no context opens any
 * more, so requests to contexts that were never open are refused, too. */
void amg_shm_poll_all_closed_locked(
    struct amg_shm_domain *domain, bool is_last);

/* Liveness: detects peers that closed or died, and ends the operations with
 * them (shm_liveness.c). */

void amg_shm_liveness_init(struct amg_shm_domain *domain);
void amg_shm_liveness_fini(struct amg_shm_domain *domain);

/* Detects peers that closed or refuse us; no system call without such peers. */
void amg_shm_liveness_check_closed_locked(struct amg_shm_domain *domain);
/* Detects peers that closed or refuse this process, and peers whose death the
 * kernel has reported; 1 system call if there are no such peers. */
void amg_shm_liveness_check_deaths_locked(struct amg_shm_domain *domain);
/* Calls amg_shm_liveness_check_deaths_locked(), and checks the liveness of some
 * peers without a pidfd. To be called from time to time. */
void amg_shm_liveness_check_all_locked(struct amg_shm_domain *domain);

/* Before blocking: arms a timer if there is something to retry or to check from
 * time to time. False: no timer can be armed for a retry; do not block. */
bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain);

/* Ends the calls of `inbox` to GONE peers that have no ring in `inbox` left. */
void amg_shm_liveness_end_calls_locked(struct amg_shm_inbox *inbox);

/* Received requests, replies and refusals (shm_msg.c). */

/* Publishes the read position of a ring, and wakes a writer that waits for
 * room. */
void amg_shm_inring_report(struct amg_shm_inring *ring);

/* Advances the read position by `cells` cells of the ring, which were read. */
static inline void amg_shm_inring_pop(
    struct amg_shm_inring *ring, uint32_t cells)
{
    if (!AMG_LIKELY(!amg_shm_in_pop(&ring->in, cells)))
        amg_shm_inring_report(ring);
}

/* Whether an active ring from index `*at` on has cells, and its index. */
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
/* Drops the late replies that no poll has taken, and frees all arrivals. */
void amg_shm_msg_fini_locked(struct amg_shm_domain *domain);
/* Number of arrivals that are not free: received requests and replies. */
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

/* Functions of the contract. */
void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
