/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of references: 0 stands for an object that is gone.
 *
 * Any thread may take a reference by using one that it has, or that another
 * thread keeps for it: so even a count of 1 may be changed by several at once,
 * and is changed by locked instructions only. Two cases need none: nobody else
 * knows the object yet; or the caller gives back the only reference, which
 * nobody may be using then. */
#ifndef AMG_BASE_REFCOUNT_H
#define AMG_BASE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/assert.h"

/* By who makes the object, or is about to show it to others. */
static inline void amg_refs_set(atomic_int *refs, int count)
{
    atomic_store_explicit(refs, count, memory_order_relaxed);
}

static inline void amg_refs_hold(atomic_int *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* Drops `count`. True: these were the last ones, and the object is the caller's
 * to end; all that others did with it has happened before. */
static inline bool amg_refs_drop(atomic_int *refs, int count)
{
    int before = atomic_load_explicit(refs, memory_order_acquire);

    if (before == count)
        atomic_store_explicit(refs, 0, memory_order_relaxed);
    else
        before = atomic_fetch_sub_explicit(refs, count, memory_order_acq_rel);
    AMG_ASSERT(before >= count);
    return before == count;
}

/* Acquire: who finds one left has the object alone. */
static inline int amg_refs_get(const atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire);
}

#endif
