/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of exposed buffers, for the sets of them. */
#ifndef AMG_MARGO_BULK_POOL_H
#define AMG_MARGO_BULK_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "margo-bulk-pool.h"

/* Is the buffer of that pool, lent out or not? */
bool amg_margo_bulk_pool_has(
    const struct margo_bulk_pool *pool, hg_bulk_t bulk);

/* How many buffers are lent out. */
size_t amg_margo_bulk_pool_lent(struct margo_bulk_pool *pool);

#endif
