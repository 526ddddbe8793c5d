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
/* This context had no endpoint and will have none: requests to it are refused
 * as by a closed one. */
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

/* Takes the events: activates rings with cells and opens new ones. NOTE(why):
 * opening maps a peer, by system calls under the lock; it is rare. */
void amg_shm_inbox_events_locked(struct amg_shm_inbox *inbox);

/* Frees the rings whose writers closed or died, when they are empty, and ends
 * the calls that these did not answer. */
void amg_shm_inbox_reap_locked(struct amg_shm_inbox *inbox);

/* Publishes the read position of a ring, and wakes a writer that waits for
 * room. */
void amg_shm_inbox_report(struct amg_shm_inring *ring);

/* The next cells of the ring were read. */
static inline void amg_shm_inring_pop(
    struct amg_shm_inring *ring, uint32_t cells)
{
    if (!AMG_LIKELY(!amg_shm_in_pop(&ring->in, cells)))
        amg_shm_inbox_report(ring);
}

/* Whether an active ring has cells, from index `*at` on, which it moves to that
 * ring. */
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

/* Stops polling the rings that were silent since the last call, if there are
 * more than a few. */
void amg_shm_inbox_prune(struct amg_shm_inbox *inbox);

/* Stops polling all rings. False: one has a cell, or there is an event; then
 * polls go on with all of them. Executes a barrier in every process if that is
 * needed to see later cells, or if `must_fence`. */
bool amg_shm_inbox_prepare_block(struct amg_shm_inbox *inbox, bool must_fence);

/* Progress and blocking of an endpoint (shm_poll.c). */

/* The slot of the contract. */
unsigned amg_shm_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);

/* Takes the messages of a closed context; requests are refused. */
void amg_shm_poll_closed_locked(struct amg_shm_inbox *inbox);
/* The same for all closed contexts; `is_last`: also for those that were never
 * open, as none will be opened any more. */
void amg_shm_poll_all_closed_locked(
    struct amg_shm_domain *domain, bool is_last);

/* Ends a wait, or one that did not begin. */
void amg_shm_poll_disarm_locked(struct amg_shm_ep *ep);

/* The slots of the contract for blocking. */
int amg_shm_poll_fd(const struct amg_ep *ep);
bool amg_shm_poll_arm(struct amg_ep *ep);
bool amg_shm_poll_is_oversubscribed(struct amg_ep *ep);

/* Liveness of peers: detects those that closed or died, and ends the operations
 * with them (shm_liveness.c). */

void amg_shm_liveness_init(struct amg_shm_domain *domain);
void amg_shm_liveness_fini(struct amg_shm_domain *domain);

/* Detects peers that closed: reads one word of each. */
void amg_shm_liveness_check_closed_locked(struct amg_shm_domain *domain);
/* The same, and deaths that the kernel reported: one system call. */
void amg_shm_liveness_check_deaths_locked(struct amg_shm_domain *domain);
/* The same, and checks some of the peers without a pidfd; to be called from
 * time to time. */
void amg_shm_liveness_check_all_locked(struct amg_shm_domain *domain);

/* Before blocking: arms a timer if something is to be retried or checked from
 * time to time. False: no timer, do not block. */
bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain);

/* Ends the calls of `inbox` to peers that are gone, once their rings in it were
 * read to the end. */
void amg_shm_liveness_end_calls_locked(struct amg_shm_inbox *inbox);

#endif
