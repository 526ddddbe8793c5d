/* SPDX-License-Identifier: BSD-3-Clause */
/* Doorbell of a context: its news bits, and the FIFO that wakes its owner. */
#ifndef AMG_SHM_SHM_DOORBELL_H
#define AMG_SHM_SHM_DOORBELL_H

#include "shm/shm_domain.h"

/* Creates the descriptor of an endpoint, and the FIFO of its inbox.
 * HG_NA_ERROR. */
hg_return_t amg_shm_doorbell_open(struct amg_shm_ep *ep);
void amg_shm_doorbell_close(struct amg_shm_ep *ep);
/* Removes the FIFO; the inbox is destroyed next. */
void amg_shm_doorbell_remove(struct amg_shm_inbox *inbox);

/* Sets `news` at a context of a peer, and wakes it if it is blocked. `*bell` is
 * our end of its FIFO, opened here when first needed. False: the wakeup failed,
 * the caller tries again later. */
bool amg_shm_doorbell_raise(struct amg_shm_context *context,
    enum amg_shm_news news, struct amg_shm_peer *peer, uint8_t context_id,
    int *bell);

/* Wakes `ep` for work posted by another thread of this process. */
void amg_shm_doorbell_self_locked(struct amg_shm_ep *ep);

/* A full barrier in every process that writes to the segment. */
void amg_shm_doorbell_fence(const struct amg_shm_domain *domain);

/* Registers this process for the barriers of others; false: the kernel has
 * none, or AMALGAM_SHM_FENCE turns them off. */
bool amg_shm_doorbell_has_membarrier(void);

#endif
