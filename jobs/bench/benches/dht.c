/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks: which way to insert and find is best for
 * values of which size?
 *
 * Every rank inserts, or finds, random keys that other ranks own - own ones are
 * but a look into memory - and serves the others meanwhile; a batch is over
 * when all ranks are through. All values are looked at when the clock has
 * stopped: those inserted, by the ranks that own them. */
#include "jobs/bench/benches/dht.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/mpi_calls.h"

enum {
    SIZE_MIN = 8,
    SIZE_SMOKE = 8192,
    SIZE_LAST = 64 * 1024,
    SIZE_LIMIT = 1024 * 1024,
    WINDOW = 16,
    WINDOW_MAX = 64,
    OPS_MIN = 64,
    OPS_MAX = 1000,
    OVERSUBSCRIBED_PART = 32,      /* of these, where ranks share cores */
    BATCH_BYTES = 2 * 1024 * 1024, /* of values, by each rank */
};

#define MPI_TEXT                                                               \
    "MPI request and reply: a rank that waits serves any source; values are "  \
    "received "                                                                \
    "into their slots, and sent from there"
#define WINDOW_TEXT                                                            \
    "MPI_Put or MPI_Get and a flush in a window of MPI_Win_allocate, the "     \
    "place known before: no calls"
#define RPC_TEXT "ours with the value in the call's argument or answer"
/* Of a crossover that there is not: no expectation may take it for a good one.
 */
#define NEVER_RATIO 2.0
static const struct against {
    const char *word;
    const char *text;
    const struct dht_way *way;
    bool is_open;
} with_mpi = {"mpi", MPI_TEXT, &dht_way_mpi, false},
  with_window = {"win", WINDOW_TEXT, &dht_way_window, false},
  with_rpc = {"rpc", RPC_TEXT, &dht_way_rpc, true};

/* The size from which on a landing zone is better. */
struct crossover {
    const char *op;
    size_t size; /* 0: not yet */
};

/* The rows of each size; those with the largest windows where no other is asked
 * for. */
static const struct dht_row {
    const char *op;
    const char *memory;
    const struct dht_way *way;
    bool is_find;
    const struct against *against;
    unsigned window;
} rows[] = {
    {"insert_rpc", "host", &dht_way_rpc, false, &with_mpi, 1},
    {"find_rpc", "host", &dht_way_rpc, true, &with_mpi, 1},
    {"insert_land", "library", &dht_way_landing, false, &with_mpi, 1},
    {"find_land", "library", &dht_way_landing, true, &with_mpi, 1},
    {"insert_land", "library", &dht_way_landing, false, &with_window, 1},
    {"find_land", "library", &dht_way_landing, true, &with_window, 1},
    {"insert_land", "library", &dht_way_landing, false, &with_rpc, 1},
    {"find_land", "library", &dht_way_landing, true, &with_rpc, 1},
    {"insert_rpc", "host", &dht_way_rpc, false, &with_mpi, WINDOW},
    {"find_rpc", "host", &dht_way_rpc, true, &with_mpi, WINDOW},
    {"insert_rpc", "host", &dht_way_rpc, false, &with_mpi, WINDOW_MAX},
    {"find_rpc", "host", &dht_way_rpc, true, &with_mpi, WINDOW_MAX},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static unsigned ops_of(const struct pair *team, size_t size)
{
    size_t ops = size == 0 ? OPS_MAX : BATCH_BYTES / size;

    if (team->options->calls != 0)
        return team->options->calls;
    if (team->is_oversubscribed)
        return (ops < OPS_MAX ? (unsigned)ops : OPS_MAX) / OVERSUBSCRIBED_PART +
               1;
    if (ops < OPS_MIN)
        return OPS_MIN;
    return ops < OPS_MAX ? (unsigned)ops : OPS_MAX;
}

enum { WARM_MIN = 4, WARM_PART = 8 };

static unsigned warm_of(unsigned ops)
{
    unsigned warm = ops / WARM_PART;

    if (warm < WARM_MIN)
        return WARM_MIN;
    return warm < DUEL_WARM ? warm : DUEL_WARM;
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

/* One side of a row. */
struct half {
    struct dht *dht;
    const struct dht_way *way;
};

/* duel->calls are the operations of all ranks. */
static double half_batch(struct pair *team, struct duel *duel)
{
    const struct half *half = duel->arg;
    struct dht *dht = half->dht;
    const struct dht_way *way = half->way;
    double *samples = duel->samples;
    double elapsed_us = 0.0;

    dht->ops = duel->calls / duel->ranks;
    dht->warm = warm_of(dht->ops);
    batch_prepare(dht, way);
    dht->flight = (struct flight){team, .arg = dht, .post = way->post,
        .look = way->look, .window = dht->window, .timed_every = 1};
    way->begin(dht);
    way->meet(dht);
    dht->next = 0;
    flight_run(&dht->flight, dht->warm, NULL);
    way->meet(dht);
    elapsed_us = clock_now_us();
    flight_run(&dht->flight, dht->ops, samples);
    way->meet(dht);
    elapsed_us = clock_now_us() - elapsed_us;
    way->end(dht);
    batch_verify(dht, way);
    /* Those of rank 0 are in their place. */
    MPI_Gather(team->rank == 0 ? MPI_IN_PLACE : samples, (int)dht->ops,
        MPI_DOUBLE, samples, (int)dht->ops, MPI_DOUBLE, 0, team->comm);
    return elapsed_us;
}

static void zone_expose(struct dht *dht)
{
    hg_size_t len = dht->zone_len;
    void *slots = NULL;

    CHECK(dht->team, HG_Bulk_create(dht->team->cls, 1, NULL, &len,
                         HG_BULK_READWRITE, &dht->zone));
    CHECK(dht->team, HG_Bulk_access(dht->zone, 0, len, HG_BULK_READWRITE, 1,
                         &slots, NULL, NULL));
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
    CHECK(dht->team, HG_Bulk_create(dht->team->cls, 1, &room, &size,
                         HG_BULK_READWRITE, &dht->room_handle));
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
    texts = pair_alloc(dht->team, (size_t)ranks, len);
    own = pair_alloc(dht->team, 1, len);
    CHECK(dht->team, HG_Bulk_serialize(own, own_len, 0, dht->zone));
    MPI_Allgather(
        own, (int)len, MPI_BYTE, texts, (int)len, MPI_BYTE, dht->team->comm);
    for (int i = 0; i < ranks; i++)
        CHECK(dht->team, HG_Bulk_deserialize(dht->team->cls, &dht->zones[i],
                             texts + (size_t)i * len, len));
    free(own);
    free(texts);
}

/* For values of that size. Beside the slots with keys there are those granted
 * to each rank, or those in which the control receives. */
static void memory_open(struct dht *dht, size_t size)
{
    struct pair *team = dht->team;
    unsigned ranks = (unsigned)team->world->size;
    unsigned ops = ops_of(team, size) + warm_of(ops_of(team, size));
    unsigned owned = dht_plan_owned_cap(team, ops);
    unsigned slots =
        owned + (ranks > MPI_SERVE_PLACES ? ranks : MPI_SERVE_PLACES);

    dht->size = size;
    dht->stride = dht_stride(size);
    dht->zone_len = slots * dht->stride;
    dht_plan_open(&dht->plan, team, ops);
    if (!dht_table_open(&dht->table, slots))
        pair_fail(team, "no memory for an index of %u keys", slots);
    zone_expose(dht);
    room_expose(dht, ops * dht->stride);
    dht->zones = pair_alloc(team, ranks, sizeof(*dht->zones));
    dht->granted = pair_alloc(team, ranks, sizeof(*dht->granted));
    zones_pass(dht);
    MPI_Win_allocate((MPI_Aint)(owned * dht->stride), 1, MPI_INFO_NULL,
        team->comm, &dht->win_slots, &dht->win);
    memset(dht->win_slots, 0, owned * dht->stride);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, dht->win);
}

static void memory_close(struct dht *dht)
{
    MPI_Win_unlock_all(dht->win);
    MPI_Win_free(&dht->win);
    for (int i = 0; i < dht->team->world->size; i++)
        CHECK(dht->team, HG_Bulk_free(dht->zones[i]));
    MPI_Barrier(dht->team->comm);
    CHECK(dht->team, HG_Bulk_free(dht->room_handle));
    CHECK(dht->team, HG_Bulk_free(dht->zone));
    free(dht->room);
    free(dht->zones);
    free(dht->granted);
    dht_table_close(&dht->table);
    dht_plan_close(&dht->plan);
}

/* Returns the ratio, at rank 0; 0 when the time of the run is over. */
static double row_run(
    struct dht *dht, const struct dht_row *kind, unsigned window)
{
    unsigned ranks = (unsigned)dht->team->world->size;
    const struct against *against = kind->against;
    struct half ours = {dht, kind->way};
    struct half control = {dht, against->way};
    double ratio = 0.0;
    struct duel duel = {kind->op, against->word, against->text,
        .memory = kind->memory, .size = dht->size, .window = window,
        .calls = ops_of(dht->team, dht->size) * ranks, .ranks = ranks,
        .figure = DUEL_KPS, .is_open = against->is_open,
        .ours = {half_batch, &ours, .enters = !against->is_open},
        .control = {half_batch, &control}};

    dht->is_find = kind->is_find;
    dht->window = window;
    duel_run(dht->team, &duel, &ratio);
    return ratio;
}

/* All rows of a size; or those of calls with the window that is asked for. */
static void size_run(
    struct dht *dht, size_t size, struct crossover crossovers[2])
{
    unsigned only = dht->team->options->window;

    memory_open(dht, size);
    for (unsigned i = 0; i < ROWS; i++) {
        struct crossover *crossover = &crossovers[rows[i].is_find];
        double ratio = 0.0;

        if (only != 0 && rows[i].window != WINDOW)
            continue;
        ratio = row_run(dht, &rows[i], only != 0 ? only : rows[i].window);
        if (rows[i].against != &with_rpc)
            continue;
        if (ratio < 1.0)
            crossover->size = 0;
        else if (crossover->size == 0)
            crossover->size = size;
    }
    memory_close(dht);
}

static void crossover_tell(
    const struct pair *team, size_t last, const struct crossover *crossover)
{
    struct row row = {"dht_crossover", .memory = "library",
        .size = crossover->size, .window = 1, .unit = "B",
        .value = (double)crossover->size, .against = crossover->op,
        .control = "the largest value measured; value: from this on a landing "
                   "zone is faster than values in calls, 0 (ratio 2): never",
        .control_value = (double)last, .ranks = (unsigned)team->world->size,
        .better = "lower"};

    row.ratio =
        crossover->size > 0 ? row.value / row.control_value : NEVER_RATIO;
    row.spread[0] = row.spread[1] = row.ratio;
    pair_row(team, &row);
    if (crossover->size == 0)
        pair_say(team,
            "dht: %s: a landing zone is not faster than values in calls up to "
            "%zu bytes",
            crossover->op, last);
    else
        pair_say(team,
            "dht: %s: from %zu bytes on a landing zone is faster than values "
            "in calls",
            crossover->op, crossover->size);
}

/* All powers of two; some of them, or few, in a run that has to be short. */
static bool size_is_taken(const struct pair *team, size_t size)
{
    const struct options *options = team->options;
    bool is_end = size == SIZE_MIN || size == SIZE_LAST;

    if (options->is_smoke)
        return size == SIZE_MIN || size == SIZE_SMOKE;
    if (options->is_quick && team->is_oversubscribed)
        return is_end || size == 4096;
    if (options->is_quick || team->is_oversubscribed)
        return is_end || size == 512 || size == 4096 || size == 16384;
    return true;
}

void bench_dht(struct pair *pair)
{
    const struct options *options = pair->options;
    struct pair team;
    struct dht dht = {.team = &team};
    struct crossover crossovers[] = {{"insert", 0}, {"find", 0}};
    size_t last = 0;

    if (options->size != NULL && *options->size > SIZE_LIMIT) {
        pair_say(pair,
            "dht is left out: its values are at most %d bytes, and --size is "
            "%u",
            SIZE_LIMIT, *options->size);
        return;
    }
    if (!team_open(&team, pair))
        return;
    dht.addrs = team_addrs(&team);
    dht_register(&dht);
    if (options->size != NULL)
        size_run(&dht, last = *options->size, crossovers);
    for (size_t size = SIZE_MIN; options->size == NULL && size <= SIZE_LAST;
         size *= 2)
        if (size_is_taken(&team, size))
            size_run(&dht, last = size, crossovers);
    for (unsigned i = 0; i < 2; i++)
        if (options->window == 0 && !limit_was_reached())
            crossover_tell(&team, last, &crossovers[i]);
    team_addrs_free(&team, dht.addrs);
    team_close(&team);
}
