/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of the hash table: keys, owners, slots, and where keys are. */
#include "jobs/bench/benches/dht_data.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/pattern.h"

enum { SPARE_OWNED = 64 };

/* Twice the mean is 8 and more standard deviations beyond it from 64
 * operations on; fewer have the spare. */
unsigned dht_plan_owned_cap(const struct pair *team, unsigned ops)
{
    size_t all = (size_t)ops * (unsigned)(team->world->size - 1);
    size_t likely = 2 * (size_t)ops + SPARE_OWNED;

    return (unsigned)(all < likely ? all : likely);
}

void dht_plan_open(
    struct dht_plan *plan, const struct pair *team, unsigned ops_cap)
{
    *plan = (struct dht_plan){
        .team = team, .owned_cap = dht_plan_owned_cap(team, ops_cap)};
    plan->mine = pair_alloc(team, ops_cap, sizeof(*plan->mine));
    plan->owned = pair_alloc(team, plan->owned_cap, sizeof(*plan->owned));
    plan->counts =
        pair_alloc(team, (size_t)team->world->size, sizeof(*plan->counts));
}

void dht_plan_close(struct dht_plan *plan)
{
    free(plan->mine);
    free(plan->owned);
    free(plan->counts);
}

/* All keys of one rank, those that another one owns. The owner is told by the
 * upper bits, as the index of a table takes the lower ones. */
static void rank_make(struct dht_plan *plan, int rank, uint32_t seed)
{
    int own = plan->team->rank;
    uint64_t number = mix_first(seed, rank);

    for (unsigned i = 0; i < plan->ops; i++) {
        uint64_t key = 0;
        int owner = 0;
        unsigned position = 0;

        do {
            key = mix64(number++);
            owner = mix_choose(key, plan->team->world->size);
        } while (owner == rank);
        position = plan->counts[owner]++;
        if (position >= plan->owned_cap)
            pair_fail(plan->team, "rank %d owns more than %u keys", owner,
                plan->owned_cap);
        if (rank == own)
            plan->mine[i] = (struct dht_op){key, owner, position};
        if (owner == own)
            plan->owned[position] = key;
    }
}

void dht_plan_make(struct dht_plan *plan, unsigned ops, uint32_t seed)
{
    int ranks = plan->team->world->size;

    plan->ops = ops;
    memset(plan->counts, 0, (size_t)ranks * sizeof(*plan->counts));
    for (int rank = 0; rank < ranks; rank++)
        rank_make(plan, rank, seed);
    plan->owned_count = plan->counts[plan->team->rank];
}

void dht_value_fill(void *buf, size_t len, uint64_t key)
{
    size_t head = len < sizeof(key) ? len : sizeof(key);

    memcpy(buf, &key, head);
    pattern_fill((unsigned char *)buf + head, len - head, (uint32_t)key);
}

size_t dht_value_check(const void *buf, size_t len, uint64_t key)
{
    const unsigned char *bytes = buf;
    size_t head = len < sizeof(key) ? len : sizeof(key);

    for (size_t i = 0; i < head; i++)
        if (bytes[i] != ((const unsigned char *)&key)[i])
            return i;
    return head + pattern_check(bytes + head, len - head, (uint32_t)key);
}

void dht_table_open(struct dht_table *table, const struct pair *team,
    unsigned char *slots, size_t stride, uint32_t slot_cap)
{
    size_t places = 1;

    while (places < 2 * (size_t)slot_cap)
        places *= 2;
    *table = (struct dht_table){.slots = slots,
        .stride = stride,
        .slot_cap = slot_cap,
        .index_mask = (uint32_t)(places - 1)};
    table->keys = pair_alloc(team, places, sizeof(*table->keys));
    table->found = pair_alloc(team, places, sizeof(*table->found));
    pthread_mutex_init(&table->lock, NULL);
    dht_table_reset(table);
}

void dht_table_close(struct dht_table *table)
{
    pthread_mutex_destroy(&table->lock);
    free(table->keys);
    free(table->found);
}

void dht_table_reset(struct dht_table *table)
{
    pthread_mutex_lock(&table->lock);
    table->taken = 0;
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
