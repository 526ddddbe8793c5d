/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row says of the figures of its batches, and of its operations.
 *
 * All `count` are at least 1. Figures of batches stay in their order. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stddef.h>

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/rows.h"

double figures_median(
    const struct pair *pair, const double *figures, unsigned count);
double figures_spread(
    const struct pair *pair, const double *figures, unsigned count);

/* Fills in the ratio of batches that were run side by side, and its spread. */
void figures_compare(const struct pair *pair, const double *ours,
    const double *control, unsigned count, struct row *row);

/* Fills in how long an operation took. Sorts the samples. */
void figures_samples(double *samples, size_t count, struct row *row);

#endif
