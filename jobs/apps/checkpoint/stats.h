/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles of durations, of all ranks together. */
#ifndef CHECKPOINT_STATS_H
#define CHECKPOINT_STATS_H

#include <mpi.h>
#include <stdint.h>

/* Each power of two is divided into 2^STATS_BITS equal buckets, so that a
 * percentile is exact to 1/32 of its value, half a bucket. */
enum { STATS_BITS = 4, STATS_BUCKETS = 64 << STATS_BITS };

/* Zeros are an empty one. */
struct stats {
    uint64_t counts[STATS_BUCKETS];
};

void stats_add(struct stats *stats, uint64_t duration_ns);
/* Collective: the sum of all ranks' counts, on rank 0. */
void stats_reduce(struct stats *stats, MPI_Comm comm);
uint64_t stats_count(const struct stats *stats);
/* Microseconds below which `percent` of the durations lie; 0 when empty. */
double stats_percentile_us(const struct stats *stats, double percent);

#endif
