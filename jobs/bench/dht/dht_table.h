/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the hash table that one rank owns: slots, and where keys are.
 *
 * A value stays where it came to lie: it is received, or put, or decoded, into
 * a slot that was taken for it, and then the slot is linked to its key. */
#ifndef BENCH_DHT_TABLE_H
#define BENCH_DHT_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DHT_HEADER = 16, /* bytes in front of each value, for who needs them */
    DHT_SLOT_ALIGN = 64,
};

#define DHT_NO_SLOT UINT32_MAX

/* Owned by whoever opened it, and so are the slots. `lock` guards the rest, as
 * handlers may run in several threads. */
struct dht_table {
    pthread_mutex_t lock;
    unsigned char *slots;
    size_t stride;     /* from one slot to the next */
    uint32_t slot_cap; /* slots there are */
    uint32_t taken;
    uint32_t linked;
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

/* An index for at most `slot_cap` keys. False: no memory. */
bool dht_table_open(struct dht_table *table, uint32_t slot_cap);
void dht_table_close(struct dht_table *table);

/* Empty, with the slots that `slots` offers from now on. */
void dht_table_reset(struct dht_table *table, unsigned char *slots,
    size_t stride, uint32_t slot_cap);
/* A slot that is nobody's; DHT_NO_SLOT: all are taken. */
uint32_t dht_table_take(struct dht_table *table);
/* The key's value is what lies in that slot. */
void dht_table_link(struct dht_table *table, uint64_t key, uint32_t slot);
/* Where the value of a key lies; DHT_NO_SLOT: it has none. */
uint32_t dht_table_find(struct dht_table *table, uint64_t key);

/* A slot's header, and its value. */
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
