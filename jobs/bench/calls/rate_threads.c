/* SPDX-License-Identifier: BSD-3-Clause */
/* How many null calls a second several threads make of as many of the other
 * rank, each in a context of its own. */
#include "jobs/bench/calls/crew.h"
#include "jobs/bench/calls/rate.h"
#include "jobs/bench/calls/rate_control.h"
#include "jobs/bench/fabric/fabric.h"
#include "jobs/bench/frame/results.h"

enum {
    CALLS = 20000,
    CALLS_PER_WINDOW = 2000,
    THREADS_MIN = 2,
};

static const unsigned windows[] = {1, 8, OPTIONS_WINDOW_MAX};

enum { WINDOW_COUNT = sizeof(windows) / sizeof(windows[0]) };

static double threads_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct crew *crew = duel->more;
    double elapsed_us = 0.0;

    (void)pair;
    crew_enter(crew);
    elapsed_us = crew_batch(crew, duel, rate_batch, ret_samples);
    crew_leave(crew);
    return elapsed_us;
}

static double control_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct crew *crew = duel->more;

    for (unsigned i = 0; fabric_is_way(pair) && i < crew->at_work; i++)
        fabric_prepare(&crew->members[i].pair);
    return crew_batch(crew, duel,
        fabric_is_way(pair) ? fabric_rate : rate_control, ret_samples);
}

static void row_run(struct crew *crew, unsigned window)
{
    struct pair *pair = &crew->pair;
    unsigned calls = window * CALLS_PER_WINDOW;
    bool is_fabric = fabric_is_way(pair);
    struct duel duel = {
        .ours = threads_batch,
        .control = control_batch,
        .window = window,
        .calls = pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_KPS,
        .context = DUEL_CONTEXT_OWN,
        .more = crew,
    };
    struct row row = {
        .bench = "rate",
        .op = "threads_rate",
        .threads = crew->at_work,
        .memory = "host",
        .against = is_fabric ? "libfabric" : "mpi",
        .control = is_fabric
                       ? "the same by as many threads, each with an endpoint "
                         "of its own: " FABRIC_RATE_TEXT
                       : "the same by as many threads, each with a "
                         "communicator of its own: " RATE_CONTROL_TEXT,
    };

    if (duel.calls == 0)
        duel.calls = calls < CALLS ? calls : CALLS;
    duel_run(pair, &duel, &row);
}

static void windows_run(struct crew *crew)
{
    const struct options *options = crew->pair.options;
    bool is_short = options->is_smoke || options->is_quick;

    if (options->window != 0)
        row_run(crew, options->window);
    for (unsigned i = 0; options->window == 0 && i < WINDOW_COUNT; i++)
        if (!is_short || i != 1)
            row_run(crew, windows[i]);
}

/* As many as were asked for, or as have a core; but at least two. */
static unsigned threads_wanted(
    const struct options *options, const struct crew *crew)
{
    if (options->threads != 0)
        return options->threads;
    if (options->is_smoke || crew->core_count < THREADS_MIN)
        return THREADS_MIN;
    return crew->core_count;
}

void rate_threads_run(struct pair *pair)
{
    struct crew crew;
    unsigned wanted = 0;

    if (!pair_is_of_two(pair, "rate by threads"))
        return;
    crew_init(&crew, pair);
    wanted = threads_wanted(pair->options, &crew);
    crew_open(&crew, wanted);
    if (pair->rank == 0 && wanted > crew.core_count)
        results_warn("rows of %u threads tell of shared cores: each rank has "
                     "%u of its own",
            wanted, crew.core_count);
    for (unsigned threads = 1; threads < wanted; threads *= 2) {
        crew_set(&crew, threads);
        windows_run(&crew);
    }
    crew_set(&crew, wanted);
    windows_run(&crew);
    crew_close(&crew);
}
