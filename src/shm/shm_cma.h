/* SPDX-License-Identifier: BSD-3-Clause */
/* Cross-memory copies: the kernel moves bytes between two processes. */
#ifndef AMG_SHM_SHM_CMA_H
#define AMG_SHM_SHM_CMA_H

#include "shm/shm_copy.h"

/* Can the peer's random word be read? */
bool amg_shm_cma_works(const struct amg_shm_region *region);

/* Copies between `local` and the peer's memory at `at`, in the direction of
 * `access`. HG_SUCCESS: `*ret_len` bytes, at least one. HG_HOSTUNREACH,
 * HG_NA_ERROR; HG_OPNOTSUPPORTED: these copies are not allowed any more. */
hg_return_t amg_shm_cma_copy(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, void *local, uint64_t at, uint64_t len,
    uint64_t *ret_len);

/* The same for the next runs of two lists; moves `local` behind what was
 * copied, and counts that in the step. */
hg_return_t amg_shm_cma_copy_lists(struct amg_shm_peer *peer,
    const struct amg_shm_access *access, struct amg_place *local,
    struct amg_shm_step *step, uint64_t *budget);

/* Lets the processes of this user look into this one, where Yama lets only its
 * parents. False: that is not needed. */
bool amg_shm_cma_let_in(void);
/* Takes it back, with the last one who asked for it. */
void amg_shm_cma_keep_out(void);

#endif
