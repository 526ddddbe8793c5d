/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness of peers: detects those that closed or died, and ends the operations
 * with them. */
#ifndef AMG_SHM_SHM_LIVENESS_H
#define AMG_SHM_SHM_LIVENESS_H

#include "shm/shm_domain.h"

void amg_shm_liveness_init(struct amg_shm_domain *domain);
void amg_shm_liveness_fini(struct amg_shm_domain *domain);

/* Detects peers that closed: reads one word of each. */
void amg_shm_liveness_closed_locked(struct amg_shm_domain *domain);
/* The same, and deaths that the kernel reported: one system call. */
void amg_shm_liveness_told_locked(struct amg_shm_domain *domain);
/* The same, and checks some of the peers without a pidfd; to be called from
 * time to time. */
void amg_shm_liveness_all_locked(struct amg_shm_domain *domain);

/* Before blocking: arms a timer if something is to be retried or checked from
 * time to time. False: no timer, do not block. */
bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain);

/* Ends the calls of `inbox` to peers that are gone, once their rings in it were
 * read to the end. */
void amg_shm_liveness_silent_locked(struct amg_shm_inbox *inbox);

#endif
