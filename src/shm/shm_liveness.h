/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness of peers: finds those that closed or died, and ends what was under
 * way with them. */
#ifndef AMG_SHM_SHM_LIVENESS_H
#define AMG_SHM_SHM_LIVENESS_H

#include "shm/shm_domain.h"

void amg_shm_liveness_init(struct amg_shm_domain *domain);
void amg_shm_liveness_fini(struct amg_shm_domain *domain);

/* Looks for peers that closed: reads one word of each. */
void amg_shm_liveness_closed_locked(struct amg_shm_domain *domain);
/* The same, and for deaths that the kernel has told of: one system call. */
void amg_shm_liveness_told_locked(struct amg_shm_domain *domain);
/* The same, and at some of those whose death nobody tells of; to be called from
 * time to time. */
void amg_shm_liveness_all_locked(struct amg_shm_domain *domain);

/* Before a sleep: sees to it that it ends soon where something is to be tried
 * again, or looked at from time to time. False: that cannot be, do not sleep.
 */
bool amg_shm_liveness_tick_locked(struct amg_shm_domain *domain);

/* Ends the calls of `inbox` to peers that have gone, whose rings in it were
 * read to their ends. */
void amg_shm_liveness_silent_locked(struct amg_shm_inbox *inbox);

#endif
