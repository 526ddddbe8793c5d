/* SPDX-License-Identifier: BSD-3-Clause */
/* What a class has done, counted. */
#ifndef AMG_CORE_COUNTERS_H
#define AMG_CORE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bias.h"
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

/* Owned by its context. The thread that counts first has a part of its own and
 * takes no locked instruction; the others share the other part. */
struct amg_counters {
    atomic_uintptr_t owner; /* the mark of that thread, once known */
    atomic_uint_fast64_t own[AMG_COUNTERS]; /* written by it alone */
    atomic_uint_fast64_t shared[AMG_COUNTERS];
};

/* For threads that are not the owner, and before there is one. */
void amg_counters_add_slow(struct amg_counters *counters, enum amg_counter it);

/* Counters only, so all of it is relaxed. */
static inline void amg_counters_add(
    struct amg_counters *counters, enum amg_counter it)
{
    uintptr_t owner =
        atomic_load_explicit(&counters->owner, memory_order_relaxed);

    if (owner == amg_bias_mark())
        atomic_store_explicit(&counters->own[it],
            atomic_load_explicit(&counters->own[it], memory_order_relaxed) + 1,
            memory_order_relaxed);
    else
        amg_counters_add_slow(counters, it);
}

/* Adds what was counted to `sums`. */
void amg_counters_sum(
    const struct amg_counters *counters, uint64_t sums[AMG_COUNTERS]);

/* From now on HG_Diag_dump_counters() shows the class; it is open. */
void amg_counters_join(hg_class_t *cls);
/* Not any more; writes its counters into the log, if the class wants that. */
void amg_counters_leave(hg_class_t *cls);

#endif
