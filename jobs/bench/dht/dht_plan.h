/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keys the ranks insert and find in a batch, and whose they are. */
#ifndef BENCH_DHT_PLAN_H
#define BENCH_DHT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "jobs/bench/frame/pair.h"

/* One operation of this rank. */
struct dht_op {
    uint64_t key;
    int owner;
    unsigned position; /* among the keys of that owner, in its dht_plan.owned */
};

/* Owned by whoever opened it. */
struct dht_plan {
    const struct pair *team;
    unsigned ops; /* of each rank */
    unsigned ops_cap;
    struct dht_op *mine;
    uint64_t *owned; /* the keys of this rank, which the others use */
    unsigned owned_count;
    unsigned owned_cap;
    unsigned *counts; /* of the keys of each rank, while a plan is made */
};

/* For `ops_cap` operations of each rank, and fewer. */
void dht_plan_open(
    struct dht_plan *plan, const struct pair *team, unsigned ops_cap);
void dht_plan_close(struct dht_plan *plan);

/* At most so many of the keys of all ranks are one rank's. */
unsigned dht_plan_owned_cap(const struct pair *team, unsigned ops);

/* The keys of the batch with that seed: random ones of others, all different.
 * Every rank comes to the same, without a message. */
void dht_plan_make(struct dht_plan *plan, unsigned ops, uint32_t seed);

/* The value of a key: it begins with that, and all its bytes depend on it. */
void dht_value_fill(void *buf, size_t len, uint64_t key);
/* The place of the first byte that is another, or `len`. */
size_t dht_value_check(const void *buf, size_t len, uint64_t key);

#endif
