/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers-writer locks. */
#ifndef MERCURY_THREAD_RWLOCK_H
#define MERCURY_THREAD_RWLOCK_H

#include "mercury_util_config.h"

/* Storage for a pthread_rwlock_t, which <pthread.h> hides in strict C. */
typedef union hg_thread_rwlock {
    long long align;
    char room[64];
} hg_thread_rwlock_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a readers-writer lock, unlocked.
 *
 * @param rwlock  [out]  the lock to initialise
 * Owns:      the caller owns the lock; hg_thread_rwlock_destroy() frees it.
 * Errors:    HG_UTIL_FAIL rwlock is NULL, or no memory
 * Threads:   any thread; never blocks.
 * Undefined: rwlock was initialised before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_init(hg_thread_rwlock_t *rwlock);

/**
 * Destroy a readers-writer lock.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      the lock is consumed.
 * Errors:    HG_UTIL_FAIL rwlock is NULL
 * Threads:   one thread, when no other uses the lock.
 * Undefined: the lock is held.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_destroy(hg_thread_rwlock_t *rwlock);

/**
 * Lock for reading; wait while a writer holds the lock.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL rwlock is NULL, or the caller holds it for writing
 * Threads:   any thread; waits without limit.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_rdlock(hg_thread_rwlock_t *rwlock);

/**
 * Lock for reading unless a writer holds the lock.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL a writer holds the lock, or rwlock is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t *rwlock);

/**
 * Release a lock held for reading.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL rwlock is NULL
 * Threads:   the thread that holds it; never blocks.
 * Undefined: the caller does not hold it for reading.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t *rwlock);

/**
 * Lock for writing; wait while other threads hold the lock.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL rwlock is NULL, or the caller holds it for writing
 * Threads:   any thread; waits without limit.
 * Undefined: the caller holds it for reading.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_wrlock(hg_thread_rwlock_t *rwlock);

/**
 * Lock for writing if no other thread holds the lock.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL the lock is held, or rwlock is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t *rwlock);

/**
 * Release a lock held for writing.
 *
 * @param rwlock  [in]  of hg_thread_rwlock_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL rwlock is NULL
 * Threads:   the thread that holds it; never blocks.
 * Undefined: the caller does not hold it for writing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t *rwlock);

#ifdef __cplusplus
}
#endif

#endif
