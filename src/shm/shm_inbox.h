/* SPDX-License-Identifier: BSD-3-Clause */
/* Inbox of a context: the rings of its senders, from the claim of a slot to its
 * release. Only the owner of the inbox calls these, without the lock unless the
 * name ends in _locked. */
#ifndef AMG_SHM_SHM_INBOX_H
#define AMG_SHM_SHM_INBOX_H

#include "shm/shm_domain.h"

/* After the domain is marked closed: wakes senders that claimed a slot but were
 * never opened. Known peers are woken elsewhere. */
void amg_shm_slot_farewell_locked(struct amg_shm_domain *domain);

/* The inbox of a context, created if it does not exist. HG_NOMEM. */
hg_return_t amg_shm_inbox_open_locked(struct amg_shm_domain *domain,
    uint8_t context_id, struct amg_shm_inbox **ret_inbox);
/* The endpoint closes; replies may still arrive. */
void amg_shm_inbox_close_locked(struct amg_shm_inbox *inbox);
/* This context had no endpoint and will have none: requests to it are refused
 * as by a closed one. */
void amg_shm_inbox_never_locked(
    struct amg_shm_domain *domain, uint8_t context_id);
/* Called when the domain closes. */
void amg_shm_inbox_fini_locked(struct amg_shm_domain *domain);

/* Whether amg_shm_inbox_news_locked() has something to take. */
static inline bool amg_shm_inbox_has_news(const struct amg_shm_inbox *inbox)
{
    return atomic_load_explicit(&inbox->context->news, memory_order_relaxed) !=
           0;
}

/* Takes the news: activates rings with cells and opens new ones. NOTE(why):
 * that maps peers, by system calls under the lock; it is rare. */
void amg_shm_inbox_news_locked(struct amg_shm_inbox *inbox);

/* Frees the rings whose writers are gone, once they are empty; calls that they
 * did not answer end. */
void amg_shm_inbox_reap_locked(struct amg_shm_inbox *inbox);

/* Publishes the read position of a ring, and wakes a writer that waits for
 * room. */
void amg_shm_inbox_report(struct amg_shm_inring *ring);

/* Stops polling rings that were silent since the last call, if there are
 * many. */
void amg_shm_inbox_prune(struct amg_shm_inbox *inbox);

/* Stops polling all rings. False: one has a cell, or there is news; then all
 * are polled on. Executes a barrier in every process if that is needed to see
 * later cells, or if `must_fence`. */
bool amg_shm_inbox_sleep(struct amg_shm_inbox *inbox, bool must_fence);

#endif
