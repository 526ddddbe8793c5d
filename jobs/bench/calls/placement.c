/* SPDX-License-Identifier: BSD-3-Clause */
/* Is what the library chooses by itself as good as the best that one can ask?
 *
 * Two ranks that may run wherever they want call each other, both ways at once,
 * in each of the ways to share the work among threads: progress by the program
 * or by a thread, which spin or sleep, without and with a thread for handlers.
 * All of them have a short time in each round, so what else happens on the
 * machine meets them alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/both.h"
#include "jobs/bench/frame/figures.h"

enum {
    WINDOW = 64,
    SLICE_US = 100000,
    SLICE_QUICK_US = 30000,
    SLICE_SMOKE_US = 2000,
    CHOSEN = 0, /* by the library */
};

#define CHOSEN_TEXT                                                            \
    "the best of the eight ways to divide the work, of the same run: the one " \
    "with the highest rate"
#define OTHER_TEXT "the way that the library chooses by itself"

static const struct way {
    const char *op;
    enum amalgam_progress progress;
    enum amalgam_wait wait;
    unsigned handlers;
} ways[] = {
    [CHOSEN] = {"chosen", AMALGAM_PROGRESS_AUTO, AMALGAM_WAIT_AUTO,
        AMALGAM_HANDLERS_AUTO},
    {"caller_spin", AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SPIN, 0},
    {"caller_spin_1", AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SPIN, 1},
    {"caller_sleep", AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SLEEP, 0},
    {"caller_slp_1", AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SLEEP, 1},
    {"thread_spin", AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SPIN, 0},
    {"thread_spin_1", AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SPIN, 1},
    {"thread_sleep", AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SLEEP, 0},
    {"thread_slp_1", AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SLEEP, 1},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* All rounds. The figures of a way stand one after the other. */
struct match {
    struct served served;
    unsigned rounds;
    unsigned window;
    double *kps[WAYS]; /* of both ranks together, in each round */
    double *samples[WAYS];
    unsigned sample_counts[WAYS];
};

static void match_init(struct match *match, const struct pair *pair)
{
    match->rounds = pair->options->batches;
    if (match->rounds == 0)
        match->rounds = DUEL_BATCHES_MIN;
    match->window = pair->options->window;
    if (match->window == 0)
        match->window = WINDOW;
    for (unsigned i = 0; i < WAYS; i++) {
        match->kps[i] = calloc(match->rounds, sizeof(double));
        match->samples[i] =
            calloc((size_t)match->rounds * BOTH_SAMPLES, sizeof(double));
        match->sample_counts[i] = 0;
        if (match->kps[i] == NULL || match->samples[i] == NULL)
            pair_check(pair, HG_NOMEM, "memory for the samples");
    }
}

static void match_fini(struct match *match)
{
    for (unsigned i = 0; i < WAYS; i++) {
        free(match->kps[i]);
        free(match->samples[i]);
    }
}

/* One way for one slice of time. */
static void way_run(struct match *match, unsigned way, unsigned round)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct served *served = &match->served;
    struct pair *pair = &served->pair;
    struct both both;
    double kps = 0.0;

    guard_step("round %u of %s", round, ways[way].op);
    options.progress = ways[way].progress;
    options.wait = ways[way].wait;
    options.handlers = ways[way].handlers;
    served_set(served, &options);
    pair_enter(pair);
    both_run(served, match->window,
        options_pick(pair->options, SLICE_US, SLICE_QUICK_US, SLICE_SMOKE_US),
        ways[way].progress == AMALGAM_PROGRESS_THREAD, &both);
    pair_leave(pair);
    MPI_Allreduce(&both.kps, &kps, 1, MPI_DOUBLE, MPI_SUM, pair->comm);
    match->kps[way][round] = kps;
    memcpy(match->samples[way] + match->sample_counts[way], both.samples_us,
        both.sample_count * sizeof(double));
    match->sample_counts[way] += both.sample_count;
}

static double median_of(const struct match *match, unsigned way)
{
    return figures_median(&match->served.pair, match->kps[way], match->rounds);
}

static unsigned best_of(const struct match *match)
{
    unsigned best = CHOSEN + 1;

    for (unsigned i = best + 1; i < WAYS; i++)
        if (median_of(match, i) > median_of(match, best))
            best = i;
    return best;
}

static void row_add(struct match *match, unsigned way, unsigned against)
{
    struct row row = {
        .bench = "placement",
        .op = ways[way].op,
        .window = match->window,
        .memory = "host",
        .unit = "k/s",
        .against = ways[against].op,
        .control = way == CHOSEN ? CHOSEN_TEXT : OTHER_TEXT,
        .better = "higher",
        .batches = match->rounds,
    };
    const struct pair *pair = &match->served.pair;

    pair_row(pair, &row);
    row.value = median_of(match, way);
    row.control_value = median_of(match, against);
    row.control_spread =
        figures_spread(pair, match->kps[against], match->rounds);
    figures_compare(
        pair, match->kps[way], match->kps[against], match->rounds, &row);
    figures_samples(match->samples[way], match->sample_counts[way], &row);
    rows_add(&row);
}

void bench_placement(struct pair *pair)
{
    struct match match;
    struct pin pinned;

    pin_lift(pair->pin, &pinned);
    served_open(&match.served, pair);
    pair_meet_back(&match.served.pair);
    snprintf(
        match.served.pair.cores, sizeof(match.served.pair.cores), "shared");
    match_init(&match, &match.served.pair);
    if (pair_is_of_two(&match.served.pair, "placement")) {
        for (unsigned round = 0; round < match.rounds; round++)
            for (unsigned way = 0; way < WAYS; way++)
                way_run(&match, way, round);
        guard_rest();
        for (unsigned way = 0; pair->rank == 0 && way < WAYS; way++)
            row_add(&match, way, way == CHOSEN ? best_of(&match) : CHOSEN);
    }
    match_fini(&match);
    served_close(&match.served);
    pin_restore(&pinned);
}
