/* SPDX-License-Identifier: BSD-3-Clause */
/* A count that its usual thread changes without a locked instruction.
 *
 * The first thread that changes it has a part of its own, which nobody else
 * writes; all others share the other part. The sum is exact when nobody is at
 * it; meanwhile it may be off by the changes that happen during the look. */
#ifndef AMG_BASE_TALLY_H
#define AMG_BASE_TALLY_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bias.h"

/* Owned by whoever embeds it; all zero is an empty one. Its release stores pair
 * with the acquire loads of the sum, so that who sees the last one leave sees
 * what it left. */
struct amg_tally {
    atomic_uintptr_t owner;  /* the mark of the usual thread, once known */
    atomic_int_fast64_t own; /* written by that thread alone */
    atomic_int_fast64_t shared;
};

static inline void amg_tally_init(struct amg_tally *tally)
{
    atomic_init(&tally->owner, 0);
    atomic_init(&tally->own, 0);
    atomic_init(&tally->shared, 0);
}

static inline void amg_tally_add(struct amg_tally *tally, int change)
{
    uintptr_t mark = amg_bias_mark();
    uintptr_t owner = atomic_load_explicit(&tally->owner, memory_order_relaxed);

    if (!AMG_LIKELY(owner != 0) &&
        atomic_compare_exchange_strong_explicit(&tally->owner, &owner, mark,
            memory_order_relaxed, memory_order_relaxed))
        owner = mark;
    if (AMG_LIKELY(owner == mark))
        atomic_store_explicit(&tally->own,
            atomic_load_explicit(&tally->own, memory_order_relaxed) + change,
            memory_order_release);
    else
        atomic_fetch_add_explicit(&tally->shared, change, memory_order_release);
}

static inline int64_t amg_tally_sum(const struct amg_tally *tally)
{
    int64_t own = atomic_load_explicit(&tally->own, memory_order_acquire);

    return own + atomic_load_explicit(&tally->shared, memory_order_acquire);
}

#endif
