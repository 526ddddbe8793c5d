/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank has open for the hash table: memory, its exposure, addresses. */
#ifndef BENCH_DHT_MEMORY_H
#define BENCH_DHT_MEMORY_H

#include "dht.h"

/* Operations of each rank in a batch, and those before. */
struct dht_amount {
    unsigned ops;
    unsigned warm;
};

/* By all ranks, with the class open: for values of up to `size_cap` bytes,
 * amounts up to those of amount_of(size) and that many slots. Ends the job
 * where it cannot. */
void dht_memory_open(struct dht *dht, struct pair *team,
    struct dht_amount (*amount_of)(const struct pair *team, size_t size),
    const size_t *sizes, unsigned count);
void dht_memory_close(struct dht *dht);

#endif
