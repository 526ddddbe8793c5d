/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keys the ranks insert and find in a batch, and whose they are. */
#include "jobs/bench/dht/dht_plan.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/mix.h"
#include "jobs/bench/base/pattern.h"

enum { SPARE_OWNED = 64 };

/* The next key of that rank that another one owns. The owner is told by the
 * upper bits, as the index of a table takes the lower ones. */
static uint64_t key_next(uint64_t *number, int rank, int ranks, int *ret_owner)
{
    uint64_t key = 0;

    do {
        key = mix64((*number)++);
        *ret_owner = mix_choose(key, ranks);
    } while (*ret_owner == rank);
    return key;
}

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
    *plan = (struct dht_plan){.team = team,
        .ops_cap = ops_cap,
        .owned_cap = dht_plan_owned_cap(team, ops_cap)};
    plan->mine = calloc(ops_cap, sizeof(*plan->mine));
    plan->owned = calloc(plan->owned_cap, sizeof(*plan->owned));
    plan->counts = calloc((size_t)team->world->size, sizeof(*plan->counts));
    if (plan->mine == NULL || plan->owned == NULL || plan->counts == NULL)
        pair_fail(team, "no memory for the keys");
}

void dht_plan_close(struct dht_plan *plan)
{
    free(plan->mine);
    free(plan->owned);
    free(plan->counts);
}

/* All keys of one rank. */
static void rank_make(struct dht_plan *plan, int rank, uint32_t seed)
{
    int own = plan->team->rank;
    int ranks = plan->team->world->size;
    uint64_t number = mix_first(seed, rank);

    for (unsigned i = 0; i < plan->ops; i++) {
        int owner = 0;
        uint64_t key = key_next(&number, rank, ranks, &owner);
        unsigned position = plan->counts[owner]++;

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
    unsigned char *bytes = buf;
    size_t head = len < sizeof(key) ? len : sizeof(key);

    memcpy(bytes, &key, head);
    pattern_fill(bytes + head, len - head, (uint32_t)key);
}

size_t dht_value_check(const void *buf, size_t len, uint64_t key)
{
    const unsigned char *bytes = buf;
    unsigned char wanted[sizeof(key)];
    size_t head = len < sizeof(key) ? len : sizeof(key);

    memcpy(wanted, &key, sizeof(key));
    for (size_t i = 0; i < head; i++)
        if (bytes[i] != wanted[i])
            return i;
    return head + pattern_check(bytes + head, len - head, (uint32_t)key);
}
