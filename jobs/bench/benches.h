/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmarks there are; each is run by both ranks. */
#ifndef BENCH_BENCHES_H
#define BENCH_BENCHES_H

#include "jobs/bench/frame/pair.h"

/* Calls with 0 bytes to 64 KiB of input, and twice what fits. */
void bench_latency(struct pair *pair);
/* Null calls, 1 to 64 in flight. */
void bench_rate(struct pair *pair);
/* Pulls and pushes of 4 B to 64 MiB of the other rank's memory. */
void bench_bulk(struct pair *pair);
/* Time of the start and the end of a class, by the number of its ranks. */
void bench_scale(struct pair *pair);
/* All ranks but one call that one. */
void bench_incast(struct pair *pair);
/* Null calls to a rank that many others have contacted. */
void bench_silent(struct pair *pair);
/* Null calls between two ranks on one core. */
void bench_onecore(struct pair *pair);
/* The part of a core that a waiting rank takes. */
void bench_idle(struct pair *pair);
/* Null calls to a rank that computes, and work beside a progress thread. */
void bench_overlap(struct pair *pair);
/* The default way to divide the work among threads, and eight others. */
void bench_placement(struct pair *pair);
/* Null calls to a rank that sleeps. */
void bench_wake(struct pair *pair);
/* Margo's calls beside those of HG. */
void bench_margo(struct pair *pair);
/* User-level threads beside swapcontext(). */
void bench_ult(struct pair *pair);
/* Memory of an open class and of a contacted peer. */
void bench_memory(struct pair *pair);
/* A hash table spread over all ranks. */
void bench_dht(struct pair *pair);
/* One-way updates of a histogram of which each rank has a part. */
void bench_histogram(struct pair *pair);
/* options->calls null calls, or MPI round trips, for counting what happens
 * meanwhile. */
void bench_count(struct pair *pair);
/* Limits of this machine, as programs without the library reach them. */
void bench_controls(struct pair *pair);

#endif
