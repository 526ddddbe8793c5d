/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier of all ranks for user-level threads. */
#ifndef KV_MEET_H
#define KV_MEET_H

#include "margo.h"

/* Owned by its opener. Only rank 0 has a barrier, for all ranks. */
struct meet {
    margo_instance_id mid;
    hg_addr_t first; /* rank 0 */
    hg_id_t id;
    ABT_barrier barrier; /* at rank 0; else ABT_BARRIER_NULL */
};

hg_return_t meet_open(struct meet *meet, margo_instance_id mid);
void meet_close(struct meet *meet);

/* Returns when all ranks have called it; serves meanwhile. HG_TIMEOUT: a rank
 * is missing. */
hg_return_t meet_wait(struct meet *meet);

#endif
