/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank pays for peers that have called once and are silent since.
 *
 * Rank 1 has two classes: many peers have contacted the one, a single peer the
 * other. Rank 0 calls now the one, now the other; the contexts of both stay
 * open, and only that of the batch is looked at.
 *
 * Over MPI the peers are the ranks beyond two. Over shared memory they are
 * small processes that rank 1 starts. Either way they sleep. */
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/crowd.h"
#include "jobs/bench/calls/latency.h"

#define CONTROL_TEXT                                                           \
    "the same call to a class of the same process that one silent peer has "   \
    "contacted"

/* Whose batches are run. */
struct match {
    struct pair *busy;
    struct pair *quiet;
};

static double busy_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct match *match = duel->more;

    (void)pair;
    return latency_batch(match->busy, duel, ret_samples);
}

static double quiet_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct match *match = duel->more;

    (void)pair;
    return latency_batch(match->quiet, duel, ret_samples);
}

static void row_run(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;
    struct match match = {busy, &crowd->quiet};
    struct duel duel = {
        .ours = busy_batch,
        .control = quiet_batch,
        .size = 0,
        .window = 1,
        .calls =
            busy->options->calls == 0 ? LATENCY_CALLS : busy->options->calls,
        .batches = busy->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_OWN,
        .more = &match,
    };
    struct row row = {
        .bench = "silent",
        .op = "rpc_silent",
        .memory = "host",
        .against = "one peer",
        .peers = crowd->count,
        .control = CONTROL_TEXT,
    };

    duel_run(busy, &duel, &row);
}

void bench_silent(struct pair *pair)
{
    struct crowd crowd;

    if (!crowd_open(&crowd, pair))
        return;
    crowd_gather(&crowd);
    row_run(&crowd);
    crowd_close(&crowd);
}
