/* SPDX-License-Identifier: BSD-3-Clause */
/* One batch of inserts or finds by all ranks, in one of the ways. */
#include "jobs/bench/dht/dht_batch.h"

#include "jobs/bench/base/clock.h"

enum { WARM_MIN = 4, WARM_PART = 8 };

unsigned dht_warm_of(unsigned ops)
{
    unsigned warm = ops / WARM_PART;

    if (warm < WARM_MIN)
        return WARM_MIN;
    return warm < DUEL_WARM ? warm : DUEL_WARM;
}

uint32_t dht_slot_take(struct dht *dht)
{
    uint32_t slot = dht_table_take(&dht->table);

    if (slot == DHT_NO_SLOT)
        pair_fail(dht->team, "all %u slots of the table are taken",
            dht->table.slot_cap);
    return slot;
}

uint32_t dht_slot_find(struct dht *dht, uint64_t key)
{
    uint32_t slot = dht_table_find(&dht->table, key);

    if (slot == DHT_NO_SLOT)
        pair_fail(dht->team, "key %016llx is not in the table",
            (unsigned long long)key);
    return slot;
}

unsigned char *dht_table_place(struct dht *dht, unsigned position, bool is_new)
{
    uint64_t key = dht->plan.owned[position];
    uint32_t slot =
        is_new ? dht_slot_take(dht) : dht_table_find(&dht->table, key);

    if (slot == DHT_NO_SLOT)
        return NULL;
    if (is_new)
        dht_table_link(&dht->table, key, slot);
    return dht_table_value(&dht->table, slot);
}

static void value_verify(
    const struct dht *dht, const unsigned char *value, uint64_t key)
{
    size_t at = value == NULL ? 0 : dht_value_check(value, dht->size, key);

    if (value == NULL)
        pair_fail(dht->team, "key %016llx was inserted and is not there",
            (unsigned long long)key);
    if (at < dht->size)
        pair_fail(dht->team,
            "byte %zu of %zu of the value of key %016llx is "
            "not what was inserted",
            at, dht->size, (unsigned long long)key);
}

/* Keys of its own, an empty table, or one with what is to be found. */
static void batch_prepare(struct dht *dht, const struct dht_way *way)
{
    struct dht_plan *plan = &dht->plan;

    dht_plan_make(plan, dht->warm + dht->ops, dht->team->seed);
    dht_table_reset(&dht->table, dht->table.slots, dht->stride,
        (uint32_t)(dht->zone_len / dht->stride));
    if (dht->is_find)
        for (unsigned i = 0; i < plan->owned_count; i++)
            dht_value_fill(way->place(dht, i, true), dht->size, plan->owned[i]);
    else
        for (unsigned i = 0; i < plan->ops; i++)
            dht_value_fill(
                dht_room_value(dht, i), dht->size, plan->mine[i].key);
}

static void batch_verify(struct dht *dht, const struct dht_way *way)
{
    const struct dht_plan *plan = &dht->plan;

    if (dht->is_find)
        for (unsigned i = 0; i < plan->ops; i++)
            value_verify(dht, dht_room_value(dht, i), plan->mine[i].key);
    else
        for (unsigned i = 0; i < plan->owned_count; i++)
            value_verify(dht, way->place(dht, i, false), plan->owned[i]);
}

/* Operations up to that one; returns when all ranks have done theirs. */
static void part_run(
    struct dht *dht, const struct dht_way *way, unsigned last, double *samples)
{
    dht->samples = samples;
    dht->last = last;
    way->run(dht);
    way->meet(dht);
}

static double batch_run(struct dht *dht, const struct dht_way *way,
    const struct duel *duel, double *ret_samples)
{
    double elapsed_us = 0.0;

    dht->ops = duel->calls / duel->ranks;
    dht->warm = dht_warm_of(dht->ops);
    batch_prepare(dht, way);
    way->begin(dht);
    way->meet(dht);
    dht->next = 0;
    part_run(dht, way, dht->warm, NULL);
    elapsed_us = clock_now_us();
    part_run(dht, way, dht->warm + dht->ops, ret_samples);
    elapsed_us = clock_now_us() - elapsed_us;
    way->end(dht);
    batch_verify(dht, way);
    /* Those of rank 0 are in their place. */
    MPI_Gather(dht->team->rank == 0 ? MPI_IN_PLACE : ret_samples, (int)dht->ops,
        MPI_DOUBLE, ret_samples, (int)dht->ops, MPI_DOUBLE, 0, dht->team->comm);
    return elapsed_us;
}

double dht_batch_ours(struct pair *team, struct duel *duel, double *ret_samples)
{
    struct dht_duel *both = duel->more;

    (void)team;
    return batch_run(both->dht, both->ours, duel, ret_samples);
}

double dht_batch_control(
    struct pair *team, struct duel *duel, double *ret_samples)
{
    struct dht_duel *both = duel->more;

    (void)team;
    return batch_run(both->dht, both->control, duel, ret_samples);
}
