/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of samples. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>

/* Puts `count` numbers into rising order. */
void stats_sort(double *samples, size_t count);

/* The value below which the part `q` (0 to 1) of sorted numbers lies, between
 * two of them by a straight line; 0 when there are none. */
double stats_quantile(const double *sorted, size_t count, double q);

/* Sorts, and returns the value in the middle. */
double stats_median(double *samples, size_t count);

/* Sorts, and returns what lies between the quartiles, as a part of the median;
 * 0 when that is 0. */
double stats_spread(double *samples, size_t count);

#endif
