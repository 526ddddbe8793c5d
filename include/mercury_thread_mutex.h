/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes: a waiting thread sleeps. */
#ifndef MERCURY_THREAD_MUTEX_H
#define MERCURY_THREAD_MUTEX_H

#include <pthread.h>

#include "mercury_thread_annotation.h"
#include "mercury_util_config.h"

typedef pthread_mutex_t hg_thread_mutex_t;

/* Initialiser of a static mutex, instead of hg_thread_mutex_init(). */
#define HG_THREAD_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a mutex, unlocked, that detects misuse: a second lock by its
 * holder, and an unlock by another thread, return an error.
 *
 * @param mutex  [out]  the mutex to initialise
 * Owns:      the caller owns the lock; hg_thread_mutex_destroy() frees it.
 * Errors:    HG_UTIL_FAIL mutex is NULL, or no memory
 * Threads:   any thread; never blocks.
 * Undefined: mutex was initialised before.
 * Source:    as Mercury 2.4, but every build detects misuse.
 */
HG_UTIL_PUBLIC int hg_thread_mutex_init(hg_thread_mutex_t *mutex);

/**
 * Initialise a fast mutex, unlocked: it spins for a while before it sleeps, and
 * does not detect misuse.
 *
 * @param mutex  [out]  the mutex to initialise
 * Owns:      the caller owns the lock; hg_thread_mutex_destroy() frees it.
 * Errors:    HG_UTIL_FAIL mutex is NULL, or no memory
 * Threads:   any thread; never blocks.
 * Undefined: mutex was initialised before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_mutex_init_fast(hg_thread_mutex_t *mutex);

/**
 * Destroy a mutex.
 *
 * @param mutex  [in]  of hg_thread_mutex_init()
 * Owns:      the lock is consumed.
 * Errors:    HG_UTIL_FAIL mutex is NULL or held; a held mutex stays as it is
 * Threads:   one thread, when no other uses the lock.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_mutex_destroy(hg_thread_mutex_t *mutex);

/**
 * Lock a mutex, waiting until it is free.
 *
 * @param mutex  [in]  of hg_thread_mutex_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL a mutex that detects misuse is held by the caller
 * Threads:   any thread; waits without limit.
 * Undefined: mutex is NULL; a fast or static mutex is held by the caller.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_mutex_lock(hg_thread_mutex_t *mutex)
    HG_LOCK_ACQUIRE(*mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS;

static HG_UTIL_INLINE int hg_thread_mutex_lock(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_lock(mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/**
 * Lock a mutex if it is free.
 *
 * @param mutex  [in]  of hg_thread_mutex_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL the mutex is held
 * Threads:   any thread; never blocks.
 * Undefined: mutex is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_mutex_try_lock(hg_thread_mutex_t *mutex)
    HG_LOCK_TRY_ACQUIRE(
        HG_UTIL_SUCCESS, *mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS;

static HG_UTIL_INLINE int hg_thread_mutex_try_lock(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_trylock(mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/**
 * Unlock a mutex.
 *
 * @param mutex  [in]  of hg_thread_mutex_init()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL a mutex that detects misuse is not held by the caller
 * Threads:   the thread that holds it; never blocks.
 * Undefined: mutex is NULL; a fast or static mutex is not held.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_mutex_unlock(hg_thread_mutex_t *mutex)
    HG_LOCK_RELEASE(*mutex) HG_LOCK_NO_THREAD_SAFETY_ANALYSIS;

static HG_UTIL_INLINE int hg_thread_mutex_unlock(hg_thread_mutex_t *mutex)
{
    return pthread_mutex_unlock(mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif
