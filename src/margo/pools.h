/* SPDX-License-Identifier: BSD-3-Clause */
/* The named pools and streams of an instance. */
#ifndef AMG_MARGO_POOLS_H
#define AMG_MARGO_POOLS_H

#include <stdbool.h>

#include "margo.h"

struct amg_margo_registry;

/* The registry is shared with the instance's parent and children. */
struct amg_margo_pools {
    ABT_pool progress_pool; /* the loop's */
    ABT_pool rpc_pool;      /* handlers of RPCs that name none */
    struct amg_margo_registry *registry;
};

/* Makes what the configuration asks for; with a parent instance, shares. After
 * ABT_init(), by a thread of Argobots; `is_first`: that call was margo's, so
 * that the scheduler of the calling stream may be replaced. False: the reason
 * is in the log, and nothing is left behind. */
bool amg_margo_pools_open(
    margo_instance_id mid, const struct margo_init_info *info, bool is_first);
/* Pins the progress stream where the processes of the node are known; after
 * the class was opened. False: there is one, made here for that alone, which
 * may have to share its core. Never fails. */
bool amg_margo_pools_place(margo_instance_id mid);
/* Ends the streams and pools that were made here; not by a thread of theirs,
 * but of the primary stream. */
void amg_margo_pools_close(margo_instance_id mid);

/* An RPC uses the pool, which cannot be removed meanwhile; one that the
 * instance does not know is fine. */
void amg_margo_pools_ref(margo_instance_id mid, ABT_pool pool);
void amg_margo_pools_unref(margo_instance_id mid, ABT_pool pool);

#endif
