/* SPDX-License-Identifier: BSD-3-Clause */
/* The first and the last words of a run. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/results.h"

enum {
    REPORT_EXIT_USAGE = 2,  /* nothing was measured */
    REPORT_EXIT_EXPECT = 3, /* a ratio does not hold */
};

/* By rank 0: opens what is written, and prepares for the end by a signal; reads
 * what is expected. An exit code, with a line why, or 0. */
int report_open(
    const struct pair *pair, const char *command, struct results_rank *ranks);
/* By rank 0, at the end: the exit code. `failure` is what kept the run from
 * measuring all, or NULL. */
int report_close(const char *failure);

#endif
