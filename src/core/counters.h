/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class has done, counted. */
#ifndef AMG_CORE_COUNTERS_H
#define AMG_CORE_COUNTERS_H

#include <stdint.h>

#include "base/tally.h"
#include "mercury_types.h"

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
void amg_counters_sum(
    const struct amg_counters *counters, uint64_t sums[AMG_COUNTERS]);

/* From now on HG_Diag_dump_counters() shows the class; it is open. */
void amg_counters_join(hg_class_t *cls);
/* Not any more; writes its counters into the log, if the class wants that. */
void amg_counters_leave(hg_class_t *cls);

#endif
