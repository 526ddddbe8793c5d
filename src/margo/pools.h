/* SPDX-License-Identifier: BSD-3-Clause */
/* The named pools and streams of an instance. */
#ifndef AMG_MARGO_POOLS_H
#define AMG_MARGO_POOLS_H

#include <stdbool.h>

#include "margo.h"

/* Part "config" owns and completes this struct. */
struct amg_margo_pools {
    ABT_pool progress_pool; /* the loop's */
    ABT_pool rpc_pool;      /* handlers of RPCs that name none */
};

/* Makes what the configuration asks for; with a parent instance, shares. */
bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info);
/* Ends the streams and pools that were made here; not by a thread of theirs,
 * but of the primary stream. */
void amg_margo_pools_close(margo_instance_id mid);

/* An RPC uses the pool, which cannot be removed meanwhile; external ones are
 * fine. */
void amg_margo_pools_retain(margo_instance_id mid, ABT_pool pool);
void amg_margo_pools_release(margo_instance_id mid, ABT_pool pool);

#endif
