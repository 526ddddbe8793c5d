/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row says of the figures of its batches, and of its operations. */
#include "jobs/bench/frame/figures.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/stats.h"

/* What `ask` makes of them. */
static double asked_of(const struct pair *pair, const double *figures,
    unsigned count, double (*ask)(double *samples, size_t count))
{
    double *sorted = calloc(count, sizeof(*sorted));
    double answer = 0.0;

    if (sorted == NULL)
        pair_check(pair, HG_NOMEM, "memory for the figures");
    memcpy(sorted, figures, count * sizeof(*sorted));
    answer = ask(sorted, count);
    free(sorted);
    return answer;
}

double figures_median(
    const struct pair *pair, const double *figures, unsigned count)
{
    return asked_of(pair, figures, count, stats_median);
}

double figures_spread(
    const struct pair *pair, const double *figures, unsigned count)
{
    return asked_of(pair, figures, count, stats_spread);
}

void figures_compare(const struct pair *pair, const double *ours,
    const double *control, unsigned count, struct row *row)
{
    double *ratios = calloc(count, sizeof(*ratios));

    if (ratios == NULL)
        pair_check(pair, HG_NOMEM, "memory for the ratios");
    for (unsigned i = 0; i < count; i++)
        ratios[i] = ours[i] / control[i];
    row->ratio = stats_median(ratios, count);
    row->spread[0] = stats_quantile(ratios, count, 0.25);
    row->spread[1] = stats_quantile(ratios, count, 0.75);
    free(ratios);
}

void figures_samples(double *samples, size_t count, struct row *row)
{
    stats_sort(samples, count);
    row->p50_us = stats_quantile(samples, count, 0.5);
    row->p99_us = stats_quantile(samples, count, 0.99);
    row->p999_us = stats_quantile(samples, count, 0.999);
}
