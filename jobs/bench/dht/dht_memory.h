/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank has open for the hash table: memory, its exposure, addresses. */
#ifndef BENCH_DHT_MEMORY_H
#define BENCH_DHT_MEMORY_H

#include "jobs/bench/dht/dht.h"

/* By all ranks, with the class open: for batches of up to ops_of(size)
 * operations of each rank. Ends the job where it cannot. */
void dht_memory_open(struct dht *dht, struct pair *team,
    unsigned (*ops_of)(const struct pair *team, size_t size),
    const size_t *sizes, unsigned count);
void dht_memory_close(struct dht *dht);

#endif
