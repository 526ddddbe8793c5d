/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables. A wait may wake spuriously, so the waiter checks again:
 *
 *   while (!ready)
 *       hg_thread_cond_wait(&cond, &mutex);
 */
#ifndef MERCURY_THREAD_CONDITION_H
#define MERCURY_THREAD_CONDITION_H

#include "mercury_thread_mutex.h"

typedef pthread_cond_t hg_thread_cond_t;

/* Initialiser of a static condition, instead of hg_thread_cond_init(). */
#define HG_THREAD_COND_INITIALIZER PTHREAD_COND_INITIALIZER

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a condition variable.
 *
 * @param cond  [out]  the variable to initialise
 * Owns:      the caller owns the condition; hg_thread_cond_destroy() frees it.
 * Errors:    HG_UTIL_FAIL cond is NULL, or no memory
 * Threads:   any thread; never blocks.
 * Undefined: cond was initialised before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_cond_init(hg_thread_cond_t *cond);

/**
 * Destroy a condition variable.
 *
 * @param cond  [in]  of hg_thread_cond_init()
 * Owns:      the condition is consumed.
 * Errors:    HG_UTIL_FAIL cond is NULL
 * Threads:   one thread, when no thread waits.
 * Undefined: a thread waits for the condition.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_cond_destroy(hg_thread_cond_t *cond);

/**
 * Wake at least one of the threads that wait for a condition.
 *
 * @param cond  [in]  of hg_thread_cond_init()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: cond is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_cond_signal(hg_thread_cond_t *cond)
{
    return pthread_cond_signal(cond) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/**
 * Wake all threads that wait for a condition.
 *
 * @param cond  [in]  of hg_thread_cond_init()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: cond is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_cond_broadcast(hg_thread_cond_t *cond)
{
    return pthread_cond_broadcast(cond) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/**
 * Unlock a mutex and wait for a condition, atomically; lock the mutex again
 * when woken.
 *
 * @param cond   [in]  of hg_thread_cond_init()
 * @param mutex  [in]  held by the caller, before and after
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL a mutex that detects misuse is not held by the caller
 * Threads:   any thread; waits without limit.
 * Undefined: an argument is NULL; a fast or static mutex is not held.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_cond_wait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex)
{
    return pthread_cond_wait(cond, mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/**
 * Wait for a condition like hg_thread_cond_wait(), but with a time limit.
 *
 * @param cond     [in]  of hg_thread_cond_init()
 * @param mutex    [in]  held by the caller, before and after, also on failure
 * @param timeout  [in]  milliseconds, on a monotonic clock
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL the time-out has passed; an argument is NULL; or a
 *            mutex that detects misuse is not held by the caller
 * Threads:   any thread; may wait up to its time-out.
 * Undefined: a fast or static mutex is not held by the caller.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_cond_timedwait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex, unsigned int timeout);

#ifdef __cplusplus
}
#endif

#endif
