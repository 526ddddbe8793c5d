/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and sleep of an endpoint. */
#ifndef AMG_SHM_SHM_POLL_H
#define AMG_SHM_SHM_POLL_H

#include "shm/shm_domain.h"

/* The slot of the contract. */
unsigned amg_shm_poll(
    struct amg_ep *ep, unsigned max, struct amg_news *ret_news);

/* Takes the messages of a closed context; requests are refused. */
void amg_shm_poll_closed_locked(struct amg_shm_inbox *inbox);
/* The same for all closed contexts; `is_last`: also for those that were never
 * open, as none will be opened any more. */
void amg_shm_poll_strays_locked(struct amg_shm_domain *domain, bool is_last);

/* Ends a wait, or one that did not begin. */
void amg_shm_poll_disarm(struct amg_shm_ep *ep);

/* The slots of the contract for blocking. */
int amg_shm_poll_fd(const struct amg_ep *ep);
bool amg_shm_poll_arm(struct amg_ep *ep);
bool amg_shm_poll_is_crowded(struct amg_ep *ep);

#endif
