/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of the hash table: which keys the ranks insert and find in a batch,
 * and whose they are; and the part of the table that one rank owns. */
#ifndef BENCH_DHT_DATA_H
#define BENCH_DHT_DATA_H

#include <pthread.h>

#include "jobs/bench/frame/pair.h"

/* One operation of this rank. */
struct dht_op {
    uint64_t key;
    int owner;
    unsigned position; /* among the keys of that owner, in its dht_plan.owned */
};

/* Its opener owns it. */
struct dht_plan {
    const struct pair *team;
    unsigned ops; /* of each rank */
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

enum {
    DHT_HEADER = 16, /* bytes in front of each value, for ways that need them */
    DHT_SLOT_ALIGN = 64,
};

#define DHT_NO_SLOT UINT32_MAX

/* Its opener owns it, and the slots. `lock` guards the rest, as handlers may
 * run in several threads. */
struct dht_table {
    pthread_mutex_t lock;
    unsigned char *slots;
    size_t stride;     /* from one slot to the next */
    uint32_t slot_cap; /* slots there are */
    uint32_t taken;
    uint32_t index_mask; /* of a power of two of places, half of them empty */
    uint64_t *keys;
    uint32_t *found; /* the slot of each; DHT_NO_SLOT: the place is empty */
};

/* Bytes of a slot for values of that size. */
static inline size_t dht_stride(size_t size)
{
    return (DHT_HEADER + size + DHT_SLOT_ALIGN - 1) / DHT_SLOT_ALIGN *
           DHT_SLOT_ALIGN;
}

/* Empty, of `slot_cap` slots that lie there. */
void dht_table_open(struct dht_table *table, const struct pair *team,
    unsigned char *slots, size_t stride, uint32_t slot_cap);
void dht_table_reset(struct dht_table *table);
void dht_table_close(struct dht_table *table);
/* A slot that is nobody's; DHT_NO_SLOT: all are taken. */
uint32_t dht_table_take(struct dht_table *table);
/* The key's value is what lies in that slot. */
void dht_table_link(struct dht_table *table, uint64_t key, uint32_t slot);
/* The slot of a key's value; DHT_NO_SLOT: it has none. */
uint32_t dht_table_find(struct dht_table *table, uint64_t key);

/* A slot's header; its value is behind that. */
static inline unsigned char *dht_table_header(
    const struct dht_table *table, uint32_t slot)
{
    return table->slots + (size_t)slot * table->stride;
}

static inline unsigned char *dht_table_value(
    const struct dht_table *table, uint32_t slot)
{
    return dht_table_header(table, slot) + DHT_HEADER;
}

#endif
