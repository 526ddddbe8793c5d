/* SPDX-License-Identifier: BSD-3-Clause */
/* What the batches of a duel tell beside its own figure. */
#include "jobs/bench/frame/tally.h"

#include <stdlib.h>

#include "jobs/bench/base/stats.h"
#include "jobs/bench/frame/tries.h"

enum { CAP_MORE = 32 };

void tally_add(struct tally *tally, const struct pair *pair, double figure)
{
    if (tally->count == tally->cap) {
        unsigned cap = 2 * tally->cap + CAP_MORE;
        double *figures = realloc(tally->figures, cap * sizeof(*figures));

        if (figures == NULL)
            pair_check(pair, HG_NOMEM, "memory for the figures");
        tally->figures = figures;
        tally->cap = cap;
    }
    tally->figures[tally->count++] = figure;
}

void tally_fini(struct tally *tally)
{
    free(tally->figures);
    *tally = (struct tally){.count = 0};
}

/* Sorts. */
static void row_fill(struct row *row, double *ours, double *control,
    double *ratios, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ratios[i] = control[i] > 0.0 ? ours[i] / control[i] : 0.0;
    row->ratio = stats_median(ratios, count);
    row->spread[0] = stats_quantile(ratios, count, 0.25);
    row->spread[1] = stats_quantile(ratios, count, 0.75);
    row->value = stats_median(ours, count);
    row->control_spread = stats_spread(control, count);
    row->control_value = stats_median(control, count);
    row->is_noisy = row_is_noisy(row);
}

void tally_row(const struct pair *pair, struct tally *ours,
    struct tally *control, const struct row *like, const struct row *other)
{
    unsigned count = like->batches;
    unsigned each = count + 1; /* with that which warmed up */
    double *ratios = calloc(count, sizeof(*ratios));
    struct tries tries;
    struct row row = {
        .bench = like->bench,
        .op = other->op,
        .unit = other->unit,
        .better = other->better,
        .control = other->control == NULL ? like->control : other->control,
        .against = like->against,
        .size = like->size,
        .window = like->window,
        .ranks = like->ranks,
        .peers = like->peers,
        .memory = like->memory,
        .batches = count,
    };

    if (!tries_init(&tries, pair->options->runs) || ratios == NULL)
        pair_check(pair, HG_NOMEM, "memory for the ratios");
    for (unsigned i = 0; i + each <= ours->count; i += each) {
        row_fill(&row, ours->figures + i + 1, control->figures + i + 1, ratios,
            count);
        tries_add(&tries, &row);
    }
    tries_choose(&tries, &row);
    tries_fini(&tries);
    pair_row(pair, &row);
    rows_add(&row);
    free(ratios);
}
