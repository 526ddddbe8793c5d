/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of samples. */
#include "jobs/bench/base/stats.h"

#include <stdlib.h>

static int sample_compare(const void *one, const void *other)
{
    const double *a = one;
    const double *b = other;

    return (*a > *b) - (*a < *b);
}

void stats_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), sample_compare);
}

double stats_quantile(const double *sorted, size_t count, double q)
{
    double place = q * (double)(count - 1);
    size_t below = (size_t)place;

    if (count == 0)
        return 0.0;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] +
           (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_median(double *samples, size_t count)
{
    stats_sort(samples, count);
    return stats_quantile(samples, count, 0.5);
}

double stats_spread(double *samples, size_t count)
{
    double median = stats_median(samples, count);

    if (median == 0.0)
        return 0.0;
    return (stats_quantile(samples, count, 0.75) -
               stats_quantile(samples, count, 0.25)) /
           median;
}
