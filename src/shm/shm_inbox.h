/* SPDX-License-Identifier: BSD-3-Clause */
/* Inbox of a context: the rings of its senders, from the claim of a slot to its
 * release. The owner of the inbox calls these, without the lock unless the name
 * says so. */
#ifndef AMG_SHM_SHM_INBOX_H
#define AMG_SHM_SHM_INBOX_H

#include "shm/shm_domain.h"

/* The domain has said that it is closed: tells those who claimed a slot and
 * were never looked at. Others are told as peers. */
void amg_shm_slot_farewell_locked(struct amg_shm_domain *domain);

/* The inbox of a context, made when it is not there. HG_NOMEM. */
hg_return_t amg_shm_inbox_open_locked(struct amg_shm_domain *domain,
    uint8_t context_id, struct amg_shm_inbox **ret_inbox);
/* The endpoint closes; answers may still come. */
void amg_shm_inbox_close_locked(struct amg_shm_inbox *inbox);
/* No endpoint of this context comes any more, nor was there one: what is sent
 * to it is refused as by one that has closed. */
void amg_shm_inbox_never_locked(
    struct amg_shm_domain *domain, uint8_t context_id);
/* With the domain. */
void amg_shm_inbox_fini_locked(struct amg_shm_domain *domain);

/* Is there news that amg_shm_inbox_news() would take? */
static inline bool amg_shm_inbox_has_news(const struct amg_shm_inbox *inbox)
{
    return atomic_load_explicit(&inbox->context->news, memory_order_relaxed) !=
           0;
}

/* Takes the news: rings that have cells become active, and new ones are opened.
 * NOTE(why): that maps peers, by system calls under the lock; it is rare. */
void amg_shm_inbox_news_locked(struct amg_shm_inbox *inbox);

/* Frees the rings whose writers are gone, once they are empty; the calls that
 * they did not answer end. */
void amg_shm_inbox_reap_locked(struct amg_shm_inbox *inbox);

/* Publishes how far a ring was read, and wakes a writer that waits for it. */
void amg_shm_inbox_report(struct amg_shm_inring *ring);

/* Stops to look at rings that were silent since it was last called, if there
 * are many. */
void amg_shm_inbox_prune(struct amg_shm_inbox *inbox);

/* Stops to look at all. False: one has a cell, or there is news; then all are
 * looked at. Puts a barrier into every process where that is needed to see
 * what comes, or wanted. */
bool amg_shm_inbox_sleep(struct amg_shm_inbox *inbox, bool must_fence);

#endif
