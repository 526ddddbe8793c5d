/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to do the same, beside each other. */
#include "jobs/bench/frame/ways.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/watch.h"

enum { SLICE_US = 100000, SLICE_QUICK_US = 30000, SLICE_SMOKE_US = 2000 };

/* All rounds; the figures of a way stand one after the other. */
struct match {
    unsigned rounds;
    double *kps[WAYS_MAX]; /* of both ranks together, in each round */
    struct ways_slice samples[WAYS_MAX];
};

static void way_run(struct pair *pair, const struct ways *ways,
    struct match *match, unsigned way, unsigned round, unsigned window)
{
    struct ways_slice slice = {.sample_count = 0};
    unsigned count = 0;

    guard_step("round %u of %s", round, ways->ops[way]);
    ways->slice(pair, ways->arg, way, window,
        options_pick(pair->options, SLICE_US, SLICE_QUICK_US, SLICE_SMOKE_US),
        &slice);
    MPI_Allreduce(&slice.kps, &match->kps[way][round], 1, MPI_DOUBLE, MPI_SUM,
        pair->comm);
    count =
        slice.sample_count < WAYS_SAMPLES ? slice.sample_count : WAYS_SAMPLES;
    for (unsigned i = 0; i < count; i++)
        ways_sample(&match->samples[way], slice.samples_us[i]);
}

/* Copies, as the figures are sorted there. */
static void row_fill(const struct pair *pair, const struct match *match,
    unsigned way, unsigned against, struct row *row)
{
    size_t len = match->rounds * sizeof(double);
    double *ours = pair_alloc(pair, 2 * match->rounds, sizeof(double));
    double *control = ours + match->rounds;

    memcpy(ours, match->kps[way], len);
    memcpy(control, match->kps[against], len);
    (void)figures_compare(ours, control, match->rounds, row);
    free(ours);
}

static unsigned best_of(
    const struct pair *pair, const struct ways *ways, const struct match *match)
{
    unsigned best = 1;

    for (unsigned i = 2; i < ways->count; i++) {
        struct row row;

        row_fill(pair, match, i, best, &row);
        if (row.value > row.control_value)
            best = i;
    }
    return best;
}

void ways_run(struct pair *pair, const struct ways *ways)
{
    const struct options *options = pair->options;
    struct match *match = pair_alloc(pair, 1, sizeof(*match));
    unsigned window = options->window == 0 ? WAYS_WINDOW : options->window;

    match->rounds =
        options->batches == 0 ? OPTIONS_BATCHES_MIN : options->batches;
    for (unsigned i = 0; i < ways->count; i++)
        match->kps[i] = pair_alloc(pair, match->rounds, sizeof(double));
    for (unsigned round = 0; round < match->rounds; round++)
        for (unsigned way = 0; way < ways->count; way++)
            way_run(pair, ways, match, way, round, window);
    guard_rest();
    for (unsigned way = 0; way < ways->count; way++) {
        struct ways_slice *samples = &match->samples[way];
        unsigned against = way == 0 ? best_of(pair, ways, match) : 0;
        struct row row = {ways->ops[way], .window = window, .unit = "k/s",
            .against = ways->ops[against],
            .control = way == 0 ? ways->best_text : ways->chosen_text,
            .better = "higher"};

        row_fill(pair, match, way, against, &row);
        figures_samples(samples->samples_us, NULL,
            samples->sample_count < WAYS_SAMPLES ? samples->sample_count
                                                 : WAYS_SAMPLES,
            &row);
        pair_row(pair, &row);
    }
    for (unsigned i = 0; i < ways->count; i++)
        free(match->kps[i]);
    free(match);
}
