/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between this process and the memory of a peer. */
#ifndef AMG_SHM_SHM_COPY_H
#define AMG_SHM_SHM_COPY_H

#include "shm/shm_domain.h"

/* Allows other processes of this user to access the memory of this one where
 * Yama restricts that to its parents. False: not needed. */
bool amg_shm_cma_let_in(void);
/* Withdraws that permission with the last caller that asked for it. */
void amg_shm_cma_keep_out(void);

/* Moves the first bytes of `access` between `local` and the peer, and `local`
 * behind them; all of the access is checked. `*budget` bounds the step and is
 * reduced by its cost; many short runs cost more than their bytes. HG_SUCCESS:
 * `*ret_len` > 0 bytes were moved. HG_OPNOTSUPPORTED: ask by message; HG_AGAIN:
 * try again later. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW, HG_HOSTUNREACH,
 * HG_NA_ERROR, HG_PROTOCOL_ERROR: it ends with that code, and the cause was
 * logged. */
hg_return_t amg_shm_copy_step(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, const struct amg_shm_access *access,
    struct amg_seg_iter *local, uint64_t *budget, uint64_t *ret_len);

/* Whether this process is known to be able to copy by itself. False before the
 * first step, and when the peer is gone. */
static inline bool amg_shm_copy_is_near(const struct amg_shm_peer *peer)
{
    return atomic_load_explicit(&peer->bulk.is_known, memory_order_acquire) !=
               0 &&
           peer->bulk.visitor != NULL &&
           atomic_load_explicit(&peer->bulk.is_gone, memory_order_relaxed) == 0;
}

/* Logs a refused access. */
void amg_shm_copy_blame(const struct amg_shm_region *who,
    const struct amg_shm_access *access, hg_return_t rc);

/* Unmaps the peer's area and frees the visitor slot in its table. */
void amg_shm_copy_fini(struct amg_shm_bulk_peer *bulk);

#endif
