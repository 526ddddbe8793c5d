/* SPDX-License-Identifier: BSD-3-Clause */
/* One batch of inserts or finds by all ranks, in one of the ways. */
#ifndef BENCH_DHT_BATCH_H
#define BENCH_DHT_BATCH_H

#include "jobs/bench/dht/dht.h"

/* duel->more of the batches. */
struct dht_duel {
    struct dht *dht;
    const struct dht_way *ours;
    const struct dht_way *control;
};

/* duel->calls are the operations of all ranks. All values are looked at when
 * the clock has stopped: those inserted, by who owns them. */
double dht_batch_ours(
    struct pair *team, struct duel *duel, double *ret_samples);
double dht_batch_control(
    struct pair *team, struct duel *duel, double *ret_samples);

#endif
