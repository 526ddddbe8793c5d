/* SPDX-License-Identifier: BSD-3-Clause */
/* What Margo's calls cost beside those of HG, which they are made of. */
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/calls/latency.h"
#include "jobs/bench/calls/rate.h"
#include "jobs/bench/margo/margo_bulk.h"
#include "jobs/bench/margo/margo_memory.h"
#include "jobs/bench/margo/margo_placement.h"
#include "jobs/bench/margo/mend.h"

#define HG_LATENCY_TEXT                                                        \
    "the same null calls by HG_Forward(), HG_Progress() and HG_Trigger(), "    \
    "polling; median time"
#define POLLING_TEXT                                                           \
    "the same calls by instances of Margo that never sleep; median time"
#define HG_RATE_TEXT                                                           \
    "the same number of null calls in flight by HG_Forward(); median rate"

enum { WINDOW = 64, RATE_CALLS = 20000 };

/* As it was asked for, or so many. */
static unsigned calls_of(const struct pair *pair, unsigned usual)
{
    return pair->options->calls == 0 ? usual : pair->options->calls;
}

static double hg_latency(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    double elapsed_us = 0.0;

    pair_enter(pair);
    elapsed_us = latency_batch(pair, duel, ret_samples);
    pair_leave(pair);
    return elapsed_us;
}

static double hg_rate(struct pair *pair, struct duel *duel, double *ret_samples)
{
    double elapsed_us = 0.0;

    pair_enter(pair);
    elapsed_us = rate_batch(pair, duel, ret_samples);
    pair_leave(pair);
    return elapsed_us;
}

static void null_row(struct pair *pair, struct mend *polling)
{
    struct duel duel = {
        .ours = mend_latency,
        .control = hg_latency,
        .window = 1,
        .calls = calls_of(pair, LATENCY_CALLS),
        .batches = pair->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_OWN,
        .more = polling,
    };
    struct row row = {
        .bench = "margo",
        .op = "margo",
        .memory = "host",
        .against = "hg",
        .control = HG_LATENCY_TEXT,
    };

    duel_run(pair, &duel, &row);
}

/* The two instances that are compared. */
struct instances {
    struct mend *defaults;
    struct mend *polling;
};

static double of_instance(struct pair *pair, const struct duel *duel,
    struct mend *mend, double *ret_samples)
{
    struct duel one = *duel;

    one.more = mend;
    return mend_latency(pair, &one, ret_samples);
}

static double by_defaults(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct instances *both = duel->more;

    return of_instance(pair, duel, both->defaults, ret_samples);
}

static double by_polling(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct instances *both = duel->more;

    return of_instance(pair, duel, both->polling, ret_samples);
}

static void defaults_row(
    struct pair *pair, struct mend *defaults, struct mend *polling)
{
    struct instances both = {defaults, polling};
    struct duel duel = {
        .ours = by_defaults,
        .control = by_polling,
        .window = 1,
        .calls = calls_of(pair, LATENCY_CALLS),
        .batches = pair->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_OWN,
        .more = &both,
    };
    struct row row = {
        .bench = "margo",
        .op = "margo_default",
        .memory = "host",
        .against = "polling",
        .control = POLLING_TEXT,
    };

    duel_run(pair, &duel, &row);
}

static void rate_row(struct pair *pair, struct mend *polling)
{
    struct duel duel = {
        .ours = mend_rate,
        .control = hg_rate,
        .window = pair->options->window == 0 ? WINDOW : pair->options->window,
        .calls = calls_of(pair, RATE_CALLS),
        .batches = pair->options->batches,
        .figure = DUEL_KPS,
        .context = DUEL_CONTEXT_OWN,
        .more = polling,
    };
    struct row row = {
        .bench = "margo",
        .op = "margo_rate",
        .memory = "host",
        .against = "hg",
        .control = HG_RATE_TEXT,
    };

    duel_run(pair, &duel, &row);
}

void bench_margo(struct pair *pair)
{
    static const struct mend_how polling_how = {.json = MEND_POLLING_JSON};
    static const struct mend_how defaults_how = {.json = NULL};
    struct mend polling;
    struct mend defaults;

    if (!pair_is_of_two(pair, "margo"))
        return;
    mend_open(&polling, pair, &polling_how);
    null_row(pair, &polling);
    rate_row(pair, &polling);
    margo_bulk_run(pair, &polling);
    mend_open(&defaults, pair, &defaults_how);
    defaults_row(pair, &defaults, &polling);
    mend_close(&defaults);
    mend_close(&polling);
    margo_memory_run(pair);
    margo_placement_run(pair);
}
