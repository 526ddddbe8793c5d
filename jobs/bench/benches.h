/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks there are, as main.c describes them. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

#include "jobs/bench/frame/pair.h"

/* By the two ranks. */
void bench_latency(struct pair *pair);
void bench_count(struct pair *pair);
void bench_rate(struct pair *pair);
void bench_bulk(struct pair *pair);
void bench_silent(struct pair *pair);
void bench_onecore(struct pair *pair);
void bench_idle(struct pair *pair);
void bench_wake(struct pair *pair);
void bench_overlap(struct pair *pair);
void bench_placement(struct pair *pair);
void bench_margo(struct pair *pair);
void bench_ult(struct pair *pair);
void bench_controls(struct pair *pair);
/* By all ranks. */
void bench_scale(struct pair *pair);
void bench_incast(struct pair *pair);
void bench_histogram(struct pair *pair);
void bench_gather(struct pair *pair);
void bench_group(struct pair *pair);

#endif
