/* SPDX-License-Identifier: BSD-3-Clause */
/* How many updates of a histogram a second, at random ranks, with no answer?
 *
 * Every rank sends updates to the others and adds theirs meanwhile. The clock
 * stops when all have been added; then each rank compares all its bins with
 * what it computes by itself from all updates of all ranks. */
#include "jobs/bench/histogram/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/mix.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/team.h"

enum {
    MESSAGES_SINGLE = 5000,
    MESSAGES_BATCH = 1000,
    WARM_PART = 8,
    CROWDED_PART = 8
};

#define MPI_TEXT                                                               \
    "the same messages by MPI_Isend, receives from any source stay posted"
#define WINDOW_TEXT                                                            \
    "MPI_Accumulate of each update, with a flush now and then, in a "          \
    "window of "                                                               \
    "MPI_Win_allocate"

/* duel->more of the batches. */
struct histogram_duel {
    struct histogram *histogram;
    const struct histogram_way *control;
};

/* Ends the job when a bin is not what the updates of the batch make of it. */
static void bins_verify(const struct histogram *histogram, unsigned updates)
{
    const struct pair *team = histogram->team;
    uint64_t *wanted = calloc(HISTOGRAM_BINS, sizeof(*wanted));

    if (wanted == NULL)
        pair_fail(team, "no memory for the bins");
    for (int rank = 0; rank < team->world->size; rank++)
        for (unsigned i = 0; i < updates; i++) {
            int to = 0;
            struct update update = histogram_update(
                histogram, mix_first(team->seed, rank), rank, i, &to);

            if (to == team->rank)
                wanted[update.bin] += update.weight;
        }
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
        if (histogram->bins[i] != wanted[i])
            pair_fail(team, "bin %u has %llu instead of %llu", i,
                (unsigned long long)histogram->bins[i],
                (unsigned long long)wanted[i]);
    free(wanted);
}

static void batch_prepare(struct histogram *histogram)
{
    histogram->first = mix_first(histogram->team->seed, histogram->team->rank);
    histogram->next = 0;
    histogram->sent = 0;
    histogram->received = 0;
    memset(histogram->bins, 0, HISTOGRAM_BINS * sizeof(*histogram->bins));
    histogram_places_reset(histogram);
}

/* An update has no end of its own that its rank sees; so each sample is the
 * mean of the batch, for a message of one rank. */
static double batch_run(struct histogram *histogram,
    const struct histogram_way *way, const struct duel *duel,
    double *ret_samples)
{
    unsigned updates = duel->calls / duel->ranks * histogram->batch;
    unsigned warm = updates / WARM_PART + 1;
    double elapsed_us = 0.0;

    batch_prepare(histogram);
    way->begin(histogram);
    histogram->last = warm;
    way->run(histogram);
    histogram->last = warm + updates;
    elapsed_us = clock_now_us();
    way->run(histogram);
    elapsed_us = clock_now_us() - elapsed_us;
    way->end(histogram);
    bins_verify(histogram, warm + updates);
    for (unsigned i = 0; i < duel->calls; i++)
        ret_samples[i] = elapsed_us * duel->ranks / duel->calls;
    return elapsed_us;
}

static double ours_batch(
    struct pair *team, struct duel *duel, double *ret_samples)
{
    struct histogram_duel *both = duel->more;

    (void)team;
    return batch_run(both->histogram, &histogram_way_rpc, duel, ret_samples);
}

static double control_batch(
    struct pair *team, struct duel *duel, double *ret_samples)
{
    struct histogram_duel *both = duel->more;

    (void)team;
    return batch_run(both->histogram, both->control, duel, ret_samples);
}

static void row_run(struct histogram *histogram, const char *op, unsigned batch,
    const struct histogram_way *control)
{
    struct pair *team = histogram->team;
    bool is_mpi = control == &histogram_way_mpi;
    unsigned calls = batch == 1 ? MESSAGES_SINGLE : MESSAGES_BATCH;
    unsigned ranks = (unsigned)team->world->size;
    struct histogram_duel both = {histogram, control};
    struct duel duel = {
        .ours = ours_batch,
        .control = control_batch,
        .size = batch * sizeof(struct update),
        .window = HISTOGRAM_MESSAGES,
        .calls = team->options->calls == 0 ? calls : team->options->calls,
        .ranks = ranks,
        .each = batch,
        .batches = team->options->batches,
        .figure = DUEL_KPS,
        .context = DUEL_CONTEXT_OURS,
        .more = &both,
    };
    struct row row = {
        .bench = "histogram",
        .op = op,
        .memory = "host",
        .against = is_mpi ? "mpi" : "win",
        .control = is_mpi ? MPI_TEXT : WINDOW_TEXT,
    };

    if (team->is_crowded && team->options->calls == 0)
        duel.calls /= CROWDED_PART;
    duel.calls *= ranks;
    histogram->batch = batch;
    duel_run(team, &duel, &row);
}

static void memory_open(struct histogram *histogram, struct pair *team)
{
    size_t ranks = (size_t)team->world->size;

    *histogram = (struct histogram){.team = team};
    pthread_mutex_init(&histogram->lock, NULL);
    for (unsigned i = 0; i < HISTOGRAM_MESSAGES; i++)
        histogram->places[i].histogram = histogram;
    histogram->bins = calloc(HISTOGRAM_BINS, sizeof(*histogram->bins));
    histogram->pending = calloc(ranks, sizeof(*histogram->pending));
    histogram->addrs = calloc(ranks, sizeof(*histogram->addrs));
    if (histogram->bins == NULL || histogram->pending == NULL ||
        histogram->addrs == NULL)
        pair_fail(team, "no memory for the histogram");
    for (size_t i = 0; i < ranks; i++)
        histogram->addrs[i] = team_addr(team, (int)i);
}

static void memory_close(struct histogram *histogram)
{
    for (int i = 0; i < histogram->team->world->size; i++)
        HG_Addr_free(histogram->team->cls, histogram->addrs[i]);
    free(histogram->addrs);
    free(histogram->pending);
    free(histogram->bins);
    pthread_mutex_destroy(&histogram->lock);
}

void bench_histogram(struct pair *pair)
{
    struct pair team;
    struct histogram histogram;

    if (!team_open(&team, pair, "histogram"))
        return;
    memory_open(&histogram, &team);
    histogram_rpc_register(&histogram);
    histogram_window_open(&histogram);
    row_run(&histogram, "update", 1, &histogram_way_mpi);
    row_run(&histogram, "update", 1, &histogram_way_window);
    row_run(&histogram, "update_64", HISTOGRAM_BATCH, &histogram_way_mpi);
    histogram_window_close(&histogram);
    memory_close(&histogram);
    team_close(&team);
}
