/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of references: 0 stands for an object that is gone.
 *
 * Any thread may take a reference by using one that it has, or that another
 * thread keeps for it: so even a count of 1 may be changed by several at once,
 * and is changed by locked instructions only. Two cases need none: nobody else
 * knows the object yet; or the caller gives back the only reference, which
 * nobody may be using then.
 *
 * A count may include spare references, which nobody holds yet. The only thread
 * that may begin an operation on the object takes one of them for it, by a
 * plain store and not by a locked instruction; it is dropped like any other.
 * `spare` grows only while the caller holds a reference. */
#ifndef AMG_BASE_REFCOUNT_H
#define AMG_BASE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Takes a spare one. False: there is none. */
static inline bool amg_refs_take_spare(atomic_int *spare)
{
    int count = atomic_load_explicit(spare, memory_order_relaxed);

    if (!AMG_LIKELY(count > 0))
        return false;
    atomic_store_explicit(spare, count - 1, memory_order_relaxed);
    return true;
}

static inline int amg_refs_spare(const atomic_int *spare)
{
    return spare == NULL ? 0
                         : atomic_load_explicit(spare, memory_order_relaxed);
}

/* Are `count` all that there are but the spare ones, of which there may be
 * NULL? The count comes before the spare: so one that was taken meanwhile makes
 * it look larger, not smaller. */
static inline bool amg_refs_are_last(
    const atomic_int *refs, int count, const atomic_int *spare)
{
    return atomic_load_explicit(refs, memory_order_acquire) ==
           count + amg_refs_spare(spare);
}

/* Drops `count`, of which others have some, as far as is known. As below. */
static inline bool amg_refs_drop_shared(
    atomic_int *refs, int count, const atomic_int *spare)
{
    int before = atomic_fetch_sub_explicit(refs, count, memory_order_acq_rel);
    bool is_last = before == count + amg_refs_spare(spare);

    AMG_ASSERT(before >= count);
    if (!AMG_LIKELY(!is_last))
        atomic_store_explicit(refs, 0, memory_order_relaxed);
    return is_last;
}

/* Drops `count`. True: these were the last ones, and the object is the caller's
 * to end; all that others did with it has happened before. */
static inline bool amg_refs_drop(
    atomic_int *refs, int count, const atomic_int *spare)
{
    if (!amg_refs_are_last(refs, count, spare))
        return amg_refs_drop_shared(refs, count, spare);
    atomic_store_explicit(refs, 0, memory_order_relaxed);
    return true;
}

/* Acquire: who finds one left has the object alone. */
static inline int amg_refs_get(const atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire);
}

#endif
