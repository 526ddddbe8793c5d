/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank does with the hash table, and whether that gave what it should.
 */
#ifndef KV_WORK_H
#define KV_WORK_H

#include <stdbool.h>

#include "jobs/apps/kv/client.h"

/* Counts of this rank, of all its workers. */
struct work_counts {
    uint64_t puts;
    uint64_t gets;
    uint64_t adds;
    uint64_t bytes;  /* of values put and got */
    uint64_t large;  /* values that went by bulk */
    uint64_t wrong;  /* values that are not what was put */
    uint64_t failed; /* calls that did not succeed */
};

/* Owned by main(); the workers change `counts` under `lock`. */
struct work {
    struct client *client;
    unsigned rank;
    unsigned ranks;
    unsigned keys;    /* of each rank */
    unsigned workers; /* user-level threads of a rank */
    ABT_pool pool;    /* where they run */
    ABT_mutex lock;
    struct work_counts counts;
};

/* The steps; all ranks come to the end of one before one begins the next.
 * Every rank runs each, with all its workers. False: no memory. */

/* Puts the first version of its own keys; rank 0 the counters, too. */
bool work_fill(struct work *work);
/* Overwrites its own keys, adds to the counters, and reads those of all ranks
 * meanwhile, each of which has its first or its second version. */
bool work_change(struct work *work);
/* Reads all: the second version, and the counters' last sum. */
bool work_verify(struct work *work);

#endif
