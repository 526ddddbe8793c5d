/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the hash table that one rank owns: slots, and where keys are. */
#include "jobs/bench/dht/dht_table.h"

#include <stdlib.h>
#include <string.h>

bool dht_table_open(struct dht_table *table, uint32_t slot_cap)
{
    size_t places = 1;

    while (places < 2 * (size_t)slot_cap)
        places *= 2;
    memset(table, 0, sizeof(*table));
    table->index_mask = (uint32_t)(places - 1);
    table->keys = calloc(places, sizeof(*table->keys));
    table->found = calloc(places, sizeof(*table->found));
    if (table->keys == NULL || table->found == NULL) {
        free(table->keys);
        free(table->found);
        return false;
    }
    pthread_mutex_init(&table->lock, NULL);
    return true;
}

void dht_table_close(struct dht_table *table)
{
    pthread_mutex_destroy(&table->lock);
    free(table->keys);
    free(table->found);
}

void dht_table_reset(struct dht_table *table, unsigned char *slots,
    size_t stride, uint32_t slot_cap)
{
    pthread_mutex_lock(&table->lock);
    table->slots = slots;
    table->stride = stride;
    table->slot_cap = slot_cap;
    table->taken = 0;
    table->linked = 0;
    memset(table->found, 0xff,
        ((size_t)table->index_mask + 1) * sizeof(*table->found));
    pthread_mutex_unlock(&table->lock);
}

uint32_t dht_table_take(struct dht_table *table)
{
    uint32_t slot = DHT_NO_SLOT;

    pthread_mutex_lock(&table->lock);
    if (table->taken < table->slot_cap)
        slot = table->taken++;
    pthread_mutex_unlock(&table->lock);
    return slot;
}

/* The place of the key, or the empty one where it belongs. */
static uint32_t place_of(const struct dht_table *table, uint64_t key)
{
    uint32_t place = (uint32_t)key & table->index_mask;

    while (table->found[place] != DHT_NO_SLOT && table->keys[place] != key)
        place = (place + 1) & table->index_mask;
    return place;
}

void dht_table_link(struct dht_table *table, uint64_t key, uint32_t slot)
{
    uint32_t place = 0;

    pthread_mutex_lock(&table->lock);
    place = place_of(table, key);
    if (table->found[place] == DHT_NO_SLOT)
        table->linked++;
    table->keys[place] = key;
    table->found[place] = slot;
    pthread_mutex_unlock(&table->lock);
}

uint32_t dht_table_find(struct dht_table *table, uint64_t key)
{
    uint32_t slot = DHT_NO_SLOT;

    pthread_mutex_lock(&table->lock);
    slot = table->found[place_of(table, key)];
    pthread_mutex_unlock(&table->lock);
    return slot;
}
