/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles of durations, of all ranks together. */
#include "jobs/apps/checkpoint/stats.h"

#include <string.h>

static unsigned bucket_of(uint64_t duration_ns)
{
    unsigned exponent = 0;

    if (duration_ns < (1u << STATS_BITS))
        return (unsigned)duration_ns;
    exponent = 63 - (unsigned)__builtin_clzll(duration_ns);
    return ((exponent - STATS_BITS + 1) << STATS_BITS) +
           (unsigned)(duration_ns >> (exponent - STATS_BITS)) -
           (1u << STATS_BITS);
}

/* The middle of a bucket. */
static double bucket_ns(unsigned bucket)
{
    unsigned row = bucket >> STATS_BITS;
    double step = 1;

    if (row == 0)
        return bucket;
    step = (double)(1ull << (row - 1));
    return step * ((1u << STATS_BITS) + bucket % (1u << STATS_BITS) + 0.5);
}

void stats_add(struct stats *stats, uint64_t duration_ns)
{
    stats->counts[bucket_of(duration_ns)]++;
}

void stats_reduce(struct stats *stats, MPI_Comm comm)
{
    struct stats sum;

    memset(&sum, 0, sizeof(sum));
    MPI_Reduce(stats->counts, sum.counts, STATS_BUCKETS, MPI_UINT64_T, MPI_SUM,
        0, comm);
    *stats = sum;
}

uint64_t stats_count(const struct stats *stats)
{
    uint64_t count = 0;
    unsigned i = 0;

    for (i = 0; i < STATS_BUCKETS; i++)
        count += stats->counts[i];
    return count;
}

double stats_percentile_us(const struct stats *stats, double percent)
{
    double wanted = (double)stats_count(stats) * percent / 100.0;
    uint64_t below = 0;
    unsigned i = 0;

    for (i = 0; i < STATS_BUCKETS; i++) {
        below += stats->counts[i];
        if (below > 0 && (double)below >= wanted)
            return bucket_ns(i) / 1000.0;
    }
    return 0;
}
