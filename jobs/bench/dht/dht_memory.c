/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank has open for the hash table: memory, its exposure, addresses. */
#include "jobs/bench/dht/dht_memory.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/mpi_serve.h"
#include "jobs/bench/frame/team.h"

/* The most that any of the sizes needs. */
struct need {
    unsigned ops;   /* of each rank, with the warm-up */
    unsigned slots; /* of each rank */
    size_t zone_len;
    size_t room_len;
    size_t win_len;
};

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Beside the slots with keys there are those granted to each rank, or those in
 * which the control receives. */
static void need_add(
    struct need *need, const struct pair *team, unsigned ops, size_t size)
{
    unsigned owned = dht_plan_owned_cap(team, ops);
    unsigned slots =
        owned + (unsigned)most((size_t)team->world->size, MPI_SERVE_PLACES);
    size_t stride = dht_stride(size);

    need->ops = (unsigned)most(need->ops, ops);
    need->slots = (unsigned)most(need->slots, slots);
    need->zone_len = most(need->zone_len, slots * stride);
    need->room_len = most(need->room_len, ops * stride);
    need->win_len = most(need->win_len, owned * stride);
}

static void zone_expose(struct dht *dht)
{
    hg_size_t len = dht->zone_len;
    void *slots = NULL;

    pair_check(dht->team,
        HG_Bulk_create(
            dht->team->cls, 1, NULL, &len, HG_BULK_READWRITE, &dht->zone),
        "HG_Bulk_create");
    pair_check(dht->team,
        HG_Bulk_access(
            dht->zone, 0, len, HG_BULK_READWRITE, 1, &slots, NULL, NULL),
        "HG_Bulk_access");
    memset(slots, 0, len);
    dht->table.slots = slots;
}

static void room_expose(struct dht *dht, size_t len)
{
    hg_size_t size = len;
    void *room = NULL;

    room = aligned_alloc(DHT_SLOT_ALIGN, len);
    if (room == NULL)
        pair_fail(dht->team, "no memory for %zu bytes of values", len);
    memset(room, 0, len);
    dht->room = room;
    pair_check(dht->team,
        HG_Bulk_create(dht->team->cls, 1, &room, &size, HG_BULK_READWRITE,
            &dht->room_handle),
        "HG_Bulk_create");
}

/* Each rank gets to know the zones of all. */
static void zones_pass(struct dht *dht)
{
    int ranks = dht->team->world->size;
    hg_size_t own_len = HG_Bulk_get_serialize_size(dht->zone, 0);
    uint64_t len = own_len;
    unsigned char *texts = NULL;
    unsigned char *own = NULL;

    MPI_Allreduce(
        MPI_IN_PLACE, &len, 1, MPI_UINT64_T, MPI_MAX, dht->team->comm);
    texts = calloc((size_t)ranks, len);
    own = calloc(1, len);
    if (texts == NULL || own == NULL)
        pair_fail(dht->team, "no memory for the descriptors");
    pair_check(dht->team, HG_Bulk_serialize(own, own_len, 0, dht->zone),
        "HG_Bulk_serialize");
    MPI_Allgather(
        own, (int)len, MPI_BYTE, texts, (int)len, MPI_BYTE, dht->team->comm);
    for (int i = 0; i < ranks; i++)
        pair_check(dht->team,
            HG_Bulk_deserialize(
                dht->team->cls, &dht->zones[i], texts + (size_t)i * len, len),
            "HG_Bulk_deserialize");
    free(own);
    free(texts);
}

static void ranks_open(struct dht *dht)
{
    size_t ranks = (size_t)dht->team->world->size;

    dht->zones = calloc(ranks, sizeof(*dht->zones));
    dht->addrs = calloc(ranks, sizeof(*dht->addrs));
    dht->granted = calloc(ranks, sizeof(*dht->granted));
    if (dht->zones == NULL || dht->addrs == NULL || dht->granted == NULL)
        pair_fail(dht->team, "no memory for the ranks");
    for (size_t i = 0; i < ranks; i++)
        dht->addrs[i] = team_addr(dht->team, (int)i);
}

void dht_memory_open(struct dht *dht, struct pair *team,
    unsigned (*ops_of)(const struct pair *team, size_t size),
    const size_t *sizes, unsigned count)
{
    struct need need = {.ops = 0};

    for (unsigned i = 0; i < count; i++) {
        unsigned ops = ops_of(team, sizes[i]);

        need_add(&need, team, ops + dht_warm_of(ops), sizes[i]);
    }
    *dht = (struct dht){.team = team, .zone_len = need.zone_len};
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        dht->turns[i].dht = dht;
    dht_plan_open(&dht->plan, team, need.ops);
    if (!dht_table_open(&dht->table, need.slots))
        pair_fail(team, "no memory for an index of %u keys", need.slots);
    zone_expose(dht);
    room_expose(dht, need.room_len);
    ranks_open(dht);
    zones_pass(dht);
    MPI_Win_allocate((MPI_Aint)need.win_len, 1, MPI_INFO_NULL, team->comm,
        &dht->win_slots, &dht->win);
    memset(dht->win_slots, 0, need.win_len);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, dht->win);
}

void dht_memory_close(struct dht *dht)
{
    MPI_Win_unlock_all(dht->win);
    MPI_Win_free(&dht->win);
    for (int i = 0; i < dht->team->world->size; i++) {
        pair_check(dht->team, HG_Bulk_free(dht->zones[i]), "HG_Bulk_free");
        HG_Addr_free(dht->team->cls, dht->addrs[i]);
    }
    MPI_Barrier(dht->team->comm);
    pair_check(dht->team, HG_Bulk_free(dht->room_handle), "HG_Bulk_free");
    pair_check(dht->team, HG_Bulk_free(dht->zone), "HG_Bulk_free");
    free(dht->room);
    free(dht->zones);
    free(dht->addrs);
    free(dht->granted);
    dht_table_close(&dht->table);
    dht_plan_close(&dht->plan);
}
