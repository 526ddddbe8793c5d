/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table spread over all ranks: which way to insert and find is best for
 * values of which size?
 *
 * Every rank inserts, or finds, random keys that other ranks own - own ones are
 * but a look into memory - and serves the others meanwhile; a batch is over
 * when all ranks are through. */
#include "jobs/bench/dht/dht.h"

#include <stdio.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/dht/dht_batch.h"
#include "jobs/bench/dht/dht_memory.h"
#include "jobs/bench/frame/limit.h"
#include "jobs/bench/frame/team.h"

enum {
    SIZE_MIN = 8,
    SIZE_MAX_DEFAULT = 64 * 1024,
    SIZE_LIMIT = 1024 * 1024,
    SIZES_MAX = 16,
    OPS_MIN = 64,
    OPS_MAX = 1000,
    CROWDED_PART = 32,             /* of these, where ranks share cores */
    BATCH_BYTES = 2 * 1024 * 1024, /* of values, by each rank */
};

#define MPI_TEXT                                                               \
    "MPI request and reply: who waits serves any source; values are received " \
    "into their slots, and sent from there"
#define WINDOW_TEXT                                                            \
    "MPI_Put or MPI_Get and a flush in a window of MPI_Win_allocate, the "     \
    "place known before: no calls"
#define RPC_TEXT "ours with the value in the call's argument or answer"
/* Of a crossover that there is not: no expectation may take it for a good one.
 */
#define NEVER_RATIO 2.0
#define CROSSOVER_TEXT                                                         \
    "the largest value measured; value: from this on a landing zone is "       \
    "faster than values in calls, 0 (ratio 2): never"

static const struct against {
    const char *word;
    const char *text;
    const struct dht_way *way;
    enum duel_context context;
} with_mpi = {"mpi", MPI_TEXT, &dht_way_mpi, DUEL_CONTEXT_OURS},
  with_window = {"win", WINDOW_TEXT, &dht_way_window, DUEL_CONTEXT_OURS},
  with_rpc = {"rpc", RPC_TEXT, &dht_way_rpc, DUEL_CONTEXT_BOTH};

/* The sizes of this run. */
struct sizes {
    size_t list[SIZES_MAX];
    unsigned count;
};

/* Where a landing zone begins to be better, and stays so. */
struct crossover {
    const char *op;
    size_t size; /* 0: not yet */
};

static const struct row_kind {
    const char *op;
    const char *memory;
    const struct dht_way *way;
    bool is_find;
} insert_rpc = {"insert_rpc", "host", &dht_way_rpc, false},
  find_rpc = {"find_rpc", "host", &dht_way_rpc, true},
  insert_landing = {"insert_land", "library", &dht_way_landing, false},
  find_landing = {"find_land", "library", &dht_way_landing, true};

static unsigned ops_of(const struct pair *team, size_t size)
{
    size_t ops = size == 0 ? OPS_MAX : BATCH_BYTES / size;

    if (team->options->calls != 0)
        return team->options->calls;
    if (team->is_crowded)
        return (ops < OPS_MAX ? (unsigned)ops : OPS_MAX) / CROWDED_PART + 1;
    if (ops < OPS_MIN)
        return OPS_MIN;
    return ops < OPS_MAX ? (unsigned)ops : OPS_MAX;
}

static void sizes_take(
    const size_t *list, unsigned count, struct sizes *ret_sizes)
{
    memcpy(ret_sizes->list, list, count * sizeof(*list));
    ret_sizes->count = count;
}

static void sizes_set(const struct pair *team, struct sizes *ret_sizes)
{
    const size_t smoke[] = {SIZE_MIN, 8192};
    const size_t few[] = {SIZE_MIN, 4096, SIZE_MAX_DEFAULT};
    const size_t quick[] = {SIZE_MIN, 512, 4096, 16384, SIZE_MAX_DEFAULT};
    const struct options *options = team->options;
    size_t only = options->size == NULL ? 0 : *options->size;

    ret_sizes->count = 0;
    if (options->size != NULL)
        sizes_take(&only, 1, ret_sizes);
    else if (options->is_smoke)
        sizes_take(smoke, sizeof(smoke) / sizeof(smoke[0]), ret_sizes);
    else if (options->is_quick && team->is_crowded)
        sizes_take(few, sizeof(few) / sizeof(few[0]), ret_sizes);
    else if (options->is_quick || team->is_crowded)
        sizes_take(quick, sizeof(quick) / sizeof(quick[0]), ret_sizes);
    else
        for (size_t size = SIZE_MIN; size <= SIZE_MAX_DEFAULT; size *= 2)
            ret_sizes->list[ret_sizes->count++] = size;
}

/* Returns the ratio, at rank 0; 0 when the time of the run is over. */
static double row_run(struct dht *dht, const struct row_kind *kind,
    const struct against *against, size_t size, unsigned window)
{
    unsigned ranks = (unsigned)dht->team->world->size;
    struct dht_duel both = {dht, kind->way, against->way};
    struct duel duel = {
        .ours = dht_batch_ours,
        .control = dht_batch_control,
        .size = size,
        .window = window,
        .calls = ops_of(dht->team, size) * ranks,
        .ranks = ranks,
        .batches = dht->team->options->batches,
        .figure = DUEL_KPS,
        .context = against->context,
        .more = &both,
    };
    struct row row = {
        .bench = "dht",
        .op = kind->op,
        .memory = kind->memory,
        .against = against->word,
        .control = against->text,
    };

    dht->is_find = kind->is_find;
    dht->size = size;
    dht->stride = dht_stride(size);
    dht->window = window;
    duel_run(dht->team, &duel, &row);
    return row.ratio;
}

/* Calls with 16 and 64 of them in flight, or as many as asked for. */
static void windows_run(struct dht *dht, size_t size)
{
    const unsigned windows[] = {16, 64};

    for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        unsigned window = windows[i];

        if (dht->team->options->window != 0)
            window = dht->team->options->window;
        row_run(dht, &insert_rpc, &with_mpi, size, window);
        row_run(dht, &find_rpc, &with_mpi, size, window);
        if (dht->team->options->window != 0)
            return;
    }
}

static void crossover_look(
    struct crossover *crossover, size_t size, double ratio)
{
    if (ratio < 1.0)
        crossover->size = 0;
    else if (crossover->size == 0)
        crossover->size = size;
}

static void landing_run(struct dht *dht, size_t size, struct crossover *insert,
    struct crossover *find)
{
    row_run(dht, &insert_rpc, &with_mpi, size, 1);
    row_run(dht, &find_rpc, &with_mpi, size, 1);
    row_run(dht, &insert_landing, &with_mpi, size, 1);
    row_run(dht, &find_landing, &with_mpi, size, 1);
    row_run(dht, &insert_landing, &with_window, size, 1);
    row_run(dht, &find_landing, &with_window, size, 1);
    crossover_look(
        insert, size, row_run(dht, &insert_landing, &with_rpc, size, 1));
    crossover_look(find, size, row_run(dht, &find_landing, &with_rpc, size, 1));
}

static void crossover_tell(const struct pair *team, const struct sizes *sizes,
    const struct crossover *crossover)
{
    size_t last = sizes->list[sizes->count - 1];
    struct row row = {
        .bench = "dht",
        .op = "dht_crossover",
        .memory = "library",
        .size = crossover->size,
        .window = 1,
        .unit = "B",
        .value = (double)crossover->size,
        .against = crossover->op,
        .control = CROSSOVER_TEXT,
        .control_value = (double)last,
        .ratio = NEVER_RATIO,
        .ranks = (unsigned)team->world->size,
        .better = "lower",
    };

    if (team->rank != 0)
        return;
    if (crossover->size > 0)
        row.ratio = (double)crossover->size / (double)last;
    row.spread[0] = row.spread[1] = row.ratio;
    pair_row(team, &row);
    rows_add(&row);
    if (crossover->size == 0)
        fprintf(stderr,
            "dht: %s: a landing zone is not faster than values in calls up to "
            "%zu bytes.\n",
            crossover->op, last);
    else
        fprintf(stderr,
            "dht: %s: from %zu bytes on a landing zone is faster than values "
            "in calls.\n",
            crossover->op, crossover->size);
}

static void sizes_run(struct dht *dht, const struct sizes *sizes)
{
    struct crossover insert = {"insert", 0};
    struct crossover find = {"find", 0};

    for (unsigned i = 0; i < sizes->count; i++) {
        if (dht->team->options->window == 0)
            landing_run(dht, sizes->list[i], &insert, &find);
        windows_run(dht, sizes->list[i]);
    }
    if (dht->team->options->window != 0 || limit_was_reached())
        return;
    crossover_tell(dht->team, sizes, &insert);
    crossover_tell(dht->team, sizes, &find);
}

void bench_dht(struct pair *pair)
{
    struct pair team;
    struct sizes sizes;
    struct dht dht;

    if (pair->options->size != NULL && *pair->options->size > SIZE_LIMIT) {
        if (pair->rank == 0)
            fprintf(stderr,
                "dht is left out: its values are at most %d bytes, and --size "
                "is %zu\n",
                SIZE_LIMIT, (size_t)*pair->options->size);
        return;
    }
    if (!team_open(&team, pair, "dht"))
        return;
    sizes_set(&team, &sizes);
    dht_memory_open(&dht, &team, ops_of, sizes.list, sizes.count);
    dht_rpc_register(&dht);
    dht_landing_register(&dht);
    sizes_run(&dht, &sizes);
    dht_memory_close(&dht);
    team_close(&team);
}
