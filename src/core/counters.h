/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of classes, for the program and the log. */
#ifndef AMG_CORE_COUNTERS_H
#define AMG_CORE_COUNTERS_H

#include <stdint.h>

#include "base/bias.h"
#include "mercury_types.h"

/* All counters are monotonic. */
enum amg_counter {
    AMG_COUNT_REQUESTS_SENT,
    AMG_COUNT_REQUESTS_CAME,
    AMG_COUNT_REPLIES_SENT,
    AMG_COUNT_REPLIES_CAME,
    AMG_COUNT_LONG_REQUESTS, /* sent */
    AMG_COUNT_LONG_REPLIES,  /* sent */
    AMG_COUNT_TRANSFERS,     /* bulk transfers of the program */
    AMG_COUNTERS
};

/* Owned by its context; zero at first. */
struct amg_counters {
    struct amg_tally of[AMG_COUNTERS];
};

static inline void amg_counters_add(
    struct amg_counters *counters, enum amg_counter it)
{
    amg_tally_add(&counters->of[it], 1);
}

/* Adds the counters to `sums`. */
static inline void amg_counters_sum(
    const struct amg_counters *counters, uint64_t sums[AMG_COUNTERS])
{
    for (unsigned i = 0; i < AMG_COUNTERS; i++)
        sums[i] += (uint64_t)amg_tally_sum(&counters->of[i]);
}

/* From now on HG_Diag_dump_counters() shows the open class. */
void amg_diag_join(hg_class_t *cls);
/* No longer; logs its counters, if the class wants that. */
void amg_diag_leave(hg_class_t *cls);

#endif
