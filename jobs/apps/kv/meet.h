/* SPDX-License-Identifier: BSD-3-Clause */
/* A point that all ranks have to reach before one goes on. */
#ifndef KV_MEET_H
#define KV_MEET_H

#include "margo.h"

/* Owned by who opened it; rank 0's counts. */
struct meet {
    margo_instance_id mid;
    hg_addr_t first; /* rank 0 */
    hg_id_t id;
    ABT_barrier barrier; /* rank 0's; else ABT_BARRIER_NULL */
};

hg_return_t meet_open(struct meet *meet, margo_instance_id mid);
void meet_close(struct meet *meet);

/* Returns when all ranks have called it; this one serves meanwhile.
 * HG_TIMEOUT: one does not come. */
hg_return_t meet_wait(struct meet *meet);

#endif
