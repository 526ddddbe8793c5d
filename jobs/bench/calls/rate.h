/* SPDX-License-Identifier: BSD-3-Clause */
/* Null calls with several in flight. */
#ifndef BENCH_RATE_H
#define BENCH_RATE_H

#include "jobs/bench/frame/duel.h"

/* duel->calls of them, duel->window at once, within a context. */
double rate_batch(struct pair *pair, struct duel *duel, double *ret_samples);

/* The rows of several threads of each rank. */
void rate_threads_run(struct pair *pair);

#endif
