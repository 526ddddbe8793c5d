/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class has done, counted. */
#ifndef AMG_CORE_COUNTERS_H
#define AMG_CORE_COUNTERS_H

#include <stdint.h>

#include "base/bias.h"

/* Each of them only grows. */
enum amg_counter {
    AMG_COUNT_REQUESTS_SENT,
    AMG_COUNT_REQUESTS_CAME,
    AMG_COUNT_REPLIES_SENT,
    AMG_COUNT_REPLIES_CAME,
    AMG_COUNT_LONG_REQUESTS, /* sent ones */
    AMG_COUNT_LONG_REPLIES,  /* sent ones */
    AMG_COUNT_TRANSFERS,     /* bulk, asked for by the program */
    AMG_COUNTERS
};

/* Owned by its context; all zero when nothing was counted. */
struct amg_counters {
    struct amg_tally of[AMG_COUNTERS];
};

static inline void amg_counters_add(
    struct amg_counters *counters, enum amg_counter it)
{
    amg_tally_add(&counters->of[it], 1);
}

/* Adds what was counted to `sums`. */
static inline void amg_counters_sum(
    const struct amg_counters *counters, uint64_t sums[AMG_COUNTERS])
{
    for (unsigned i = 0; i < AMG_COUNTERS; i++)
        sums[i] += (uint64_t)amg_tally_sum(&counters->of[i]);
}

#endif
