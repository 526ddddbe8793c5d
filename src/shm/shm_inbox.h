/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving side of a context: its inbox, the polls of its endpoint, and the
 * liveness of its senders. Only the owner of an inbox calls its functions,
 * without the lock unless the name ends in _locked. */
#ifndef AMG_SHM_SHM_INBOX_H
#define AMG_SHM_SHM_INBOX_H

#include "shm/shm_domain.h"

/* After the domain was marked closed: wakes the senders whose rings were never
 * opened. The caller wakes the known peers. */
void amg_shm_inbox_wake_unopened_locked(struct amg_shm_domain *domain);

/* The inbox of a context, created if it does not exist. HG_NOMEM. */
hg_return_t amg_shm_inbox_open_locked(struct amg_shm_domain *domain,
    uint8_t context_id, struct amg_shm_inbox **ret_inbox);
/* The endpoint closes. Replies may still arrive. */
void amg_shm_inbox_close_locked(struct amg_shm_inbox *inbox);
/* Refuses requests to a context that was never open and will not be. */
void amg_shm_inbox_refuse_unopened_locked(
    struct amg_shm_domain *domain, uint8_t context_id);
/* Called when the domain closes. */
void amg_shm_inbox_fini_locked(struct amg_shm_domain *domain);

/* Whether amg_shm_inbox_events_locked() has something to take. */
static inline bool amg_shm_inbox_has_events(const struct amg_shm_inbox *inbox)
{
    return atomic_load_explicit(
               &inbox->context->events, memory_order_relaxed) != 0;
}

/* Takes the events: activates rings with cells and opens new rings. NOTE(why):
 * opening maps a peer, by system calls under the lock, which is rare. */
void amg_shm_inbox_events_locked(struct amg_shm_inbox *inbox);

/* Frees the empty rings whose writers left, closed or died. The next poll ends
 * the calls that gone writers did not answer. */
void amg_shm_inbox_reap_locked(struct amg_shm_inbox *inbox);

/* Publishes the read position of a ring, and wakes a writer that waits for
 * room. */
void amg_shm_inbox_report(struct amg_shm_inring *ring);

/* Moves behind the next `cells` cells of the ring, which were read. */
static inline void amg_shm_inring_pop(
    struct amg_shm_inring *ring, uint32_t cells)
{
    if (!AMG_LIKELY(!amg_shm_in_pop(&ring->in, cells)))
        amg_shm_inbox_report(ring);
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

/* Stops polling the rings that were silent since the last call; a few stay. */
void amg_shm_inbox_prune(struct amg_shm_inbox *inbox);

/* Stops polling all rings. False: a ring has a cell, or there is an event; then
 * polls go on with all rings. Executes a barrier in every process if a ring was
 * polled, or if `must_fence`. */
bool amg_shm_inbox_prepare_block(struct amg_shm_inbox *inbox, bool must_fence);

/* Progress and blocking of an endpoint (shm_poll.c). */

/* The slot of the contract. */
unsigned amg_shm_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);

/* Takes the messages of a closed context; requests are refused. */
void amg_shm_poll_closed_locked(struct amg_shm_inbox *inbox);
/* Takes the messages of all closed contexts; `is_last`: no context opens any
 * more, so requests to contexts that were never open are refused, too. */
void amg_shm_poll_all_closed_locked(
    struct amg_shm_domain *domain, bool is_last);

/* Ends an announced wait, whether or not the owner blocked. */
void amg_shm_poll_disarm_locked(struct amg_shm_ep *ep);

/* The slots of the contract for blocking. */
int amg_shm_poll_fd(const struct amg_ep *ep);
bool amg_shm_poll_arm(struct amg_ep *ep);
bool amg_shm_poll_is_oversubscribed(struct amg_ep *ep);

/* Liveness: detects peers that closed or died, and ends the operations with
 * them (shm_liveness.c). */

void amg_shm_liveness_init(struct amg_shm_domain *domain);
void amg_shm_liveness_fini(struct amg_shm_domain *domain);

/* Detects peers that closed or refuse this process: no system call. */
void amg_shm_liveness_check_closed_locked(struct amg_shm_domain *domain);
/* Detects peers that closed, or died as the kernel reported: 1 system call. */
void amg_shm_liveness_check_deaths_locked(struct amg_shm_domain *domain);
/* Detects peers that closed or died; checks some of the peers without a pidfd.
 * To be called from time to time. */
void amg_shm_liveness_check_all_locked(struct amg_shm_domain *domain);

/* Before blocking: arms a timer if there is something to retry or to check from
 * time to time. False: no timer for a retry, do not block. */
bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain);

/* Ends the calls of `inbox` to peers that are gone and have no ring in it any
 * more. */
void amg_shm_liveness_end_calls_locked(struct amg_shm_inbox *inbox);

#endif
