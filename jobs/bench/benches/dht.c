/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks: which way to insert and find is best for
 * values of which size?
 *
 * Every rank inserts, or finds, random keys that other ranks own - own ones are
 * but a look into memory - and serves the others meanwhile; a batch is over
 * when all ranks are through. All values are looked at when the clock has
 * stopped: those inserted, by the ranks that own them. */
#include "jobs/bench/benches/dht.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

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
    WARM_MIN = 4,
    WARM_PART = 8,
};

/* Of a crossover that there is not: no expectation may take it for a good one.
 */
#define NEVER_RATIO 2.0

/* The controls of rows. */
static const struct against {
    const char *word;
    const char *text;
    const struct dht_way *way;
    bool is_open;
} with_mpi = {"mpi",
    "MPI request and reply: a rank that waits serves any source; values are "
    "received into their slots, and sent from there",
    &dht_way_mpi, false},
  with_window = {"win",
      "MPI_Put or MPI_Get and a flush in a window of MPI_Win_allocate, the "
      "place known before: no calls",
      &dht_way_window, false},
  with_rpc = {"rpc", "ours with the value in the call's argument or answer",
      &dht_way_rpc, true};

/* The rows of each size, each as one that inserts and one that finds; those
 * with the larger windows where no other is asked for. */
static const struct dht_row {
    const char *ops[2];
    const char *memory;
    const struct dht_way *way;
    const struct against *against;
    unsigned window;
} rows[] = {
    {{"insert_rpc", "find_rpc"}, "host", &dht_way_rpc, &with_mpi, 1},
    {{"insert_land", "find_land"}, "library", &dht_way_landing, &with_mpi, 1},
    {{"insert_land", "find_land"}, "library", &dht_way_landing, &with_window,
        1},
    {{"insert_land", "find_land"}, "library", &dht_way_landing, &with_rpc, 1},
    {{"insert_rpc", "find_rpc"}, "host", &dht_way_rpc, &with_mpi, WINDOW},
    {{"insert_rpc", "find_rpc"}, "host", &dht_way_rpc, &with_mpi, WINDOW_MAX},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static unsigned between(size_t number, unsigned least, unsigned most)
{
    return number < least ? least : number < most ? (unsigned)number : most;
}

/* The operations of each rank in a batch; and those before its clock starts. */
static unsigned ops_of(const struct pair *team, size_t size)
{
    size_t ops = size == 0 ? OPS_MAX : BATCH_BYTES / size;

    if (team->options->calls != 0)
        return team->options->calls;
    if (team->is_oversubscribed)
        return between(ops, 0, OPS_MAX) / OVERSUBSCRIBED_PART + 1;
    return between(ops, OPS_MIN, OPS_MAX);
}

static unsigned warm_of(unsigned ops)
{
    return between(ops / WARM_PART, WARM_MIN, DUEL_WARM);
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
            "byte %zu of %zu of the value of key %016llx is not what was "
            "inserted",
            at, dht->size, (unsigned long long)key);
}

/* Keys of its own, an empty table, or one with what is to be found. */
static void batch_prepare(
    struct dht *dht, const struct dht_way *way, unsigned ops)
{
    struct dht_plan *plan = &dht->plan;

    dht_plan_make(plan, ops, dht->team->seed);
    dht_table_reset(&dht->table);
    for (unsigned i = 0; dht->is_find && i < plan->owned_count; i++)
        dht_value_fill(way->place(dht, i, true), dht->size, plan->owned[i]);
    for (unsigned i = 0; !dht->is_find && i < plan->ops; i++)
        dht_value_fill(dht_room_value(dht, i), dht->size, plan->mine[i].key);
}

static void batch_verify(struct dht *dht, const struct dht_way *way)
{
    const struct dht_plan *plan = &dht->plan;

    for (unsigned i = 0; dht->is_find && i < plan->ops; i++)
        value_verify(dht, dht_room_value(dht, i), plan->mine[i].key);
    for (unsigned i = 0; !dht->is_find && i < plan->owned_count; i++)
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
    unsigned ops = duel->calls / duel->ranks;
    double elapsed_us = 0.0;

    batch_prepare(dht, way, warm_of(ops) + ops);
    dht->flight = (struct flight){team, .arg = dht, .post = way->post,
        .look = way->look, .window = dht->window, .timed_every = 1};
    way->begin(dht);
    way->meet(dht);
    dht->next = 0;
    flight_run(&dht->flight, warm_of(ops), NULL);
    way->meet(dht);
    elapsed_us = clock_now_us();
    flight_run(&dht->flight, ops, duel->samples);
    way->meet(dht);
    elapsed_us = clock_now_us() - elapsed_us;
    way->end(dht);
    batch_verify(dht, way);
    /* Those of rank 0 are in their place. */
    MPI_Gather(team->rank == 0 ? MPI_IN_PLACE : duel->samples, (int)ops,
        MPI_DOUBLE, duel->samples, (int)ops, MPI_DOUBLE, 0, team->comm);
    return elapsed_us;
}

/* Each rank gets to know the zones of all. */
static void zones_pass(struct dht *dht)
{
    const struct pair *team = dht->team;
    hg_size_t own_len = HG_Bulk_get_serialize_size(dht->zone, 0);
    uint64_t len = own_len;
    unsigned char *texts = NULL;
    unsigned char *own = NULL;

    MPI_Allreduce(MPI_IN_PLACE, &len, 1, MPI_UINT64_T, MPI_MAX, team->comm);
    texts = pair_alloc(team, (size_t)team->world->size, len);
    own = pair_alloc(team, 1, len);
    CHECK(team, HG_Bulk_serialize(own, own_len, 0, dht->zone));
    MPI_Allgather(
        own, (int)len, MPI_BYTE, texts, (int)len, MPI_BYTE, team->comm);
    for (int i = 0; i < team->world->size; i++)
        CHECK(team, HG_Bulk_deserialize(team->cls, &dht->zones[i],
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
    hg_size_t zone_len = slots * dht_stride(size);
    hg_size_t room_len = ops * dht_stride(size);
    void *zone = NULL;
    void *room = aligned_alloc(DHT_SLOT_ALIGN, room_len);

    dht->size = size;
    dht->stride = dht_stride(size);
    dht_plan_open(&dht->plan, team, ops);
    CHECK(team, HG_Bulk_create(team->cls, 1, NULL, &zone_len, HG_BULK_READWRITE,
                    &dht->zone));
    CHECK(team, HG_Bulk_access(dht->zone, 0, zone_len, HG_BULK_READWRITE, 1,
                    &zone, NULL, NULL));
    memset(zone, 0, zone_len);
    dht_table_open(&dht->table, team, zone, dht->stride, slots);
    if (room == NULL)
        pair_fail(team, "no memory for %zu bytes of values", (size_t)room_len);
    memset(room, 0, room_len);
    dht->room = room;
    CHECK(team, HG_Bulk_create(team->cls, 1, &room, &room_len,
                    HG_BULK_READWRITE, &dht->room_handle));
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
    struct dht *dht, const struct dht_row *kind, bool is_find, unsigned window)
{
    unsigned ranks = (unsigned)dht->team->world->size;
    const struct against *against = kind->against;
    struct half ours = {dht, kind->way};
    struct half control = {dht, against->way};
    double ratio = 0.0;
    struct duel duel = {kind->ops[is_find], against->word, against->text,
        .memory = kind->memory, .size = dht->size, .window = window,
        .calls = ops_of(dht->team, dht->size) * ranks, .ranks = ranks,
        .figure = DUEL_KPS, .is_open = against->is_open,
        .ours = {half_batch, &ours, .enters = !against->is_open},
        .control = {half_batch, &control}};

    dht->is_find = is_find;
    dht->window = window;
    duel_run(dht->team, &duel, &ratio);
    return ratio;
}

/* All rows of a size; or those of calls with the window that is asked for.
 * `crossovers`: from which size on a landing zone is better; 0: none yet. */
static void size_run(struct dht *dht, size_t size, size_t crossovers[2])
{
    unsigned only = dht->team->options->window;

    memory_open(dht, size);
    for (unsigned i = 0; i < 2 * ROWS; i++) {
        const struct dht_row *row = &rows[i / 2];
        size_t *crossover = &crossovers[i % 2];
        double ratio = 0.0;

        if (only != 0 && row->window != WINDOW)
            continue;
        ratio = row_run(dht, row, i % 2 == 1, only != 0 ? only : row->window);
        if (row->against == &with_rpc && (ratio < 1.0 || *crossover == 0))
            *crossover = ratio < 1.0 ? 0 : size;
    }
    memory_close(dht);
}

static void crossover_tell(
    const struct pair *team, size_t last, const char *op, size_t crossover)
{
    struct row row = {"dht_crossover", .memory = "library", .size = crossover,
        .window = 1, .unit = "B", .value = (double)crossover, .against = op,
        .control = "the largest value measured; value: from this on a landing "
                   "zone is faster than values in calls, 0 (ratio 2): never",
        .control_value = (double)last, .ranks = (unsigned)team->world->size,
        .better = "lower"};

    row.ratio = crossover > 0 ? row.value / row.control_value : NEVER_RATIO;
    row.spread[0] = row.spread[1] = row.ratio;
    pair_row(team, &row);
    if (crossover == 0)
        pair_say(team,
            "dht: %s: a landing zone is not faster than values in calls up to "
            "%zu bytes",
            op, last);
    else
        pair_say(team,
            "dht: %s: from %zu bytes on a landing zone is faster than values "
            "in calls",
            op, crossover);
}

/* All powers of two; some of them, or few, in a run that has to be short. */
static bool size_is_taken(const struct pair *team, size_t size)
{
    const struct options *options = team->options;
    bool is_few = options->is_quick && team->is_oversubscribed;

    if (options->is_smoke)
        return size == SIZE_MIN || size == SIZE_SMOKE;
    if (!options->is_quick && !team->is_oversubscribed)
        return true;
    return size == SIZE_MIN || size == SIZE_LAST || size == 4096 ||
           (!is_few && (size == 512 || size == 16384));
}

void bench_dht(struct pair *pair)
{
    const struct options *options = pair->options;
    struct pair team;
    struct dht dht = {.team = &team};
    size_t crossovers[2] = {0, 0};
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
            crossover_tell(
                &team, last, i == 0 ? "insert" : "find", crossovers[i]);
    team_addrs_free(&team, dht.addrs);
    team_close(&team);
}
