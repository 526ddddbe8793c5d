/* SPDX-License-Identifier: BSD-3-Clause */
/* Spin locks, to hold for a few instructions: a waiting thread keeps its core
 * busy. If threads share cores, use mercury_thread_mutex.h instead. */
#ifndef MERCURY_THREAD_SPIN_H
#define MERCURY_THREAD_SPIN_H

#include "mercury_util_config.h"

/* Storage for a pthread_spinlock_t, which <pthread.h> hides in strict C. */
typedef volatile int hg_thread_spin_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a spin lock, unlocked.
 *
 * @param lock  [out]  the lock to initialise
 * Owns:      the caller owns the lock; hg_thread_spin_destroy() frees it.
 * Errors:    HG_UTIL_FAIL lock is NULL
 * Threads:   any thread; never blocks.
 * Undefined: lock was initialised before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_spin_init(hg_thread_spin_t *lock);

/**
 * Destroy a spin lock.
 *
 * @param lock  [in]  of hg_thread_spin_init()
 * Owns:      the lock is consumed.
 * Errors:    HG_UTIL_FAIL lock is NULL
 * Threads:   one thread, when no other uses the lock.
 * Undefined: the lock is held.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_spin_destroy(hg_thread_spin_t *lock);

/**
 * Lock a spin lock, polling until it is free.
 *
 * @param lock  [in]  of hg_thread_spin_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL lock is NULL
 * Threads:   any thread; waits without limit, and keeps the core.
 * Undefined: the caller holds it.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_spin_lock(hg_thread_spin_t *lock);

/**
 * Lock a spin lock if it is free.
 *
 * @param lock  [in]  of hg_thread_spin_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL the lock is held, or lock is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_spin_try_lock(hg_thread_spin_t *lock);

/**
 * Unlock a spin lock.
 *
 * @param lock  [in]  of hg_thread_spin_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL lock is NULL
 * Threads:   the thread that holds it; never blocks.
 * Undefined: no thread holds it.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_spin_unlock(hg_thread_spin_t *lock);

#ifdef __cplusplus
}
#endif

#endif
