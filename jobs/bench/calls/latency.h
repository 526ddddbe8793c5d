/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a call takes: the part that other benchmarks use as well. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include "jobs/bench/frame/duel.h"

/* One call after the other, with duel->size bytes of input. */
double latency_batch(struct pair *pair, struct duel *duel, double *ret_samples);

/* The rows of arguments that do not fit into one message. */
void twice_run(struct pair *pair);

/* Null calls in a batch, unless the user says otherwise. */
enum { LATENCY_CALLS = 500 };

#endif
