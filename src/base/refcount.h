/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference counts; 0: the last reference was dropped.
 *
 * A thread may take a reference if it holds a reference, or another thread
 * holds one on its behalf. So several threads may change even a count of 1 at
 * once, and changes are atomic instructions. A plain store is enough in two
 * cases: no other thread knows the object yet; or the caller drops the only
 * reference.
 *
 * A count may include spare references, which no user holds yet. Only one
 * thread at a time may begin operations on such an object. This thread takes a
 * spare reference for each operation, by a plain store; the operation drops it
 * like any other. A thread that adds spare references holds a reference.
 *
 * Count and spare are two words, so a thread that drops a reference reads the
 * count, then the spare, and then exchanges the count if it is as it was read.
 * Afterwards the object may be another one in the same memory, and is not read.
 *
 *  - Nothing is destroyed twice: if the words are equal, but for the references
 *    to drop, nobody else had one when the count was read, to change a word by.
 *  - Nothing is forgotten: if they differ, and the count is as it was, somebody
 *    has another reference. To drop that changes the count; to take a spare one
 *    changes only the spare, but needs another one besides.
 *
 * tests/models/refcount.pml is a model of this. */
#ifndef AMG_BASE_REFCOUNT_H
#define AMG_BASE_REFCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

/* Called by the creator, before other threads know the object. */
static inline void amg_refs_set(atomic_int *refs, int count)
{
    atomic_store_explicit(refs, count, memory_order_relaxed);
}

static inline void amg_refs_ref(atomic_int *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* Takes a spare reference. False: there is none. */
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

/* Drops `count` references. True: these were the last references, and the
 * caller, which sees all writes of the other holders, destroys the object. */
static inline bool amg_refs_unref(
    atomic_int *refs, int count, const atomic_int *spare)
{
    int before = atomic_load_explicit(refs, memory_order_acquire);

    while (before != count + amg_refs_spare(spare)) {
        AMG_ASSERT_DEEP(before >= count);
        AMG_TEST_POINT("refs.unref");
        if (AMG_LIKELY(atomic_compare_exchange_weak_explicit(refs, &before,
                before - count, memory_order_acq_rel, memory_order_acquire)))
            return false;
    }
    atomic_store_explicit(refs, 0, memory_order_relaxed);
    return true;
}

/* Acquire: a thread that finds a count of 1 is the only user. */
static inline int amg_refs_get(const atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire);
}

#endif
