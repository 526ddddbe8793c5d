/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of a rank on the hash table, and the check of its results. */
#ifndef KV_WORK_H
#define KV_WORK_H

#include <stdbool.h>

#include "jobs/apps/kv/client.h"

/* Counts of this rank, of all its workers. */
struct work_counts {
    uint64_t puts;
    uint64_t gets;
    uint64_t adds;
    uint64_t bytes;  /* of stored and read values */
    uint64_t large;  /* values that moved by bulk transfers */
    uint64_t wrong;  /* values that differ from the stored ones */
    uint64_t failed; /* calls that failed */
};

/* Owned by main(); the workers change `counts` under `lock`. */
struct work {
    struct client *client;
    unsigned rank;
    unsigned ranks;
    unsigned keys;    /* of each rank */
    unsigned workers; /* user-level threads of a rank */
    ABT_pool pool;    /* pool of the workers */
    ABT_mutex lock;
    struct work_counts counts;
};

/* The steps: every rank runs each step with all its workers, and all ranks end
 * a step before any rank begins the next. False: no memory. */

/* Stores the first version of this rank's keys; at rank 0 the counters, too. */
bool work_fill(struct work *work);
/* Overwrites this rank's keys, adds to the counters, and reads the keys of all
 * ranks, each in its first or second version. */
bool work_change(struct work *work);
/* Reads all keys, in the second version, and the final sums of the counters. */
bool work_verify(struct work *work);

#endif
