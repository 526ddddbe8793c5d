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
    ABT_pool pool;    /* in which they run */
    ABT_mutex lock;
    struct work_counts counts;
};

/* The steps; all ranks end one before any begins the next. Every rank runs
 * each, with all its workers. False: no memory. */

/* Stores the first version of its own keys; rank 0 the counters, too. */
bool work_fill(struct work *work);
/* Overwrites its own keys, adds to the counters, and meanwhile reads those of
 * all ranks, each in its first or second version. */
bool work_change(struct work *work);
/* Reads all: the second version, and the final sums of the counters. */
bool work_verify(struct work *work);

#endif
