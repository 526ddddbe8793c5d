/* SPDX-License-Identifier: BSD-3-Clause */
/* What the results tell of each rank. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/results.h"

/* Collective over all ranks. Rank 0 gets them all, to be freed by free();
 * others, and rank 0 without memory, get NULL. */
struct results_rank *ranks_gather(const struct world *world);
/* By the ranks of `pair`, which have a context open: who makes progress. The
 * first time counts. */
void ranks_see_progress(const struct pair *pair);

#endif
