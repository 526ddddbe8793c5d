/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaf lock that a file keeps for itself. One exchange to take it, one
 * store to give it back; a waiter spins briefly, then gives its core away. */
#ifndef AMG_BASE_LOCK_H
#define AMG_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

struct amg_lock {
    /* 0 free, 1 held. The exchange that finds 0 pairs with the release store
     * in amg_lock_give(), and so sees all that was written under the lock. */
    atomic_uint held;
};

/* Gives the core to who holds what the caller waits for, who lost its own;
 * `tries`: how often it has done so before. */
void amg_lock_rest(unsigned tries);

/* Waits for the lock when the first try found it held. */
void amg_lock_wait(struct amg_lock *lock);

static inline void amg_lock_init(struct amg_lock *lock)
{
    atomic_init(&lock->held, 0);
}

static inline bool amg_lock_try(struct amg_lock *lock)
{
    return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void amg_lock_take(struct amg_lock *lock)
{
    if (!amg_lock_try(lock))
        amg_lock_wait(lock);
}

static inline void amg_lock_give(struct amg_lock *lock)
{
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
