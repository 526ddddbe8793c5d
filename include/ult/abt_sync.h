/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables, readers-writer locks, barriers. */
#ifndef ABT_SYNC_H
#define ABT_SYNC_H

#include "abt_types.h"
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* not declared by <time.h> of strict C99 */

/**
 * Create a condition variable.
 *
 * @param newcond  [out]  the condition
 * Owns:      the caller owns the result; ABT_cond_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newcond is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_create(ABT_cond *newcond);

/**
 * Destroy a condition variable that was created.
 *
 * @param cond  [in,out]  the condition; becomes ABT_COND_NULL
 * Owns:      the condition is consumed.
 * Errors:    ABT_ERR_INV_COND  *cond is ABT_COND_NULL
 *            ABT_ERR_COND  a thread waits; nothing changed
 * Threads:   any thread; waits for signaled threads that have not run yet.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_free(ABT_cond *cond);

/**
 * Unlock a mutex, wait for a signal, and lock the mutex again.
 *
 * @param cond   [in]  the condition
 * @param mutex  [in]  held by the caller; one mutex for all waiting threads
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_COND  cond is NULL
 *            ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_INV_MUTEX  other threads wait with another mutex; nothing
 *              changed
 *            ABT_ERR_MUTEX  the caller does not hold the mutex
 *            ABT_ERR_COND  the caller is a tasklet
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_wait(ABT_cond cond, ABT_mutex mutex);

/**
 * Unlock a mutex, wait for a signal until a deadline, and lock the mutex again.
 *
 * @param cond     [in]  the condition
 * @param mutex    [in]  held by the caller; one mutex for all waiting
 *                       threads
 * @param abstime  [in]  the deadline, by CLOCK_REALTIME
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_COND  cond is NULL
 *            ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_COND_TIMEDOUT  no signal came; the mutex is held again
 *            ABT_ERR_INV_MUTEX  other threads wait with another mutex; nothing
 *              changed
 *            ABT_ERR_INV_ARG  abstime is NULL, or not valid
 *            ABT_ERR_MUTEX  the caller does not hold the mutex
 *            ABT_ERR_COND  the caller is a tasklet
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_timedwait(
    ABT_cond cond, ABT_mutex mutex, const struct timespec *abstime);

/**
 * Wake one thread that waits for a condition.
 *
 * @param cond  [in]  the condition
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_COND  cond is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_signal(ABT_cond cond);

/**
 * Wake all threads that wait for a condition.
 *
 * @param cond  [in]  the condition
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_COND  cond is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_cond_broadcast(ABT_cond cond);

/**
 * Create a readers-writer lock.
 *
 * @param newrwlock  [out]  the lock
 * Owns:      the caller owns the result; ABT_rwlock_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newrwlock is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_rwlock_create(ABT_rwlock *newrwlock);

/**
 * Destroy a readers-writer lock that was created.
 *
 * @param rwlock  [in,out]  the lock; becomes ABT_RWLOCK_NULL
 * Owns:      the lock is consumed.
 * Errors:    ABT_ERR_INV_RWLOCK  *rwlock is ABT_RWLOCK_NULL
 *            ABT_ERR_RWLOCK  a thread waits; nothing changed
 * Threads:   one thread, when no other uses the lock.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_rwlock_free(ABT_rwlock *rwlock);

/**
 * Lock for reading, together with other readers.
 *
 * @param rwlock  [in]  the lock
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_RWLOCK  rwlock is NULL
 *            ABT_ERR_RWLOCK  a tasklet would have to wait
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_rwlock_rdlock(ABT_rwlock rwlock);

/**
 * Lock for writing, alone.
 *
 * @param rwlock  [in]  the lock
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_RWLOCK  rwlock is NULL
 *            ABT_ERR_RWLOCK  a tasklet would have to wait
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_rwlock_wrlock(ABT_rwlock rwlock);

/**
 * Unlock a readers-writer lock.
 *
 * @param rwlock  [in]  the lock
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_RWLOCK  rwlock is NULL
 *            ABT_ERR_RWLOCK  no thread holds the lock
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_rwlock_unlock(ABT_rwlock rwlock);

/**
 * Create a barrier for user-level threads.
 *
 * @param num_waiters  [in]  number of threads at the barrier; not 0
 * @param newbarrier   [out]  the barrier
 * Owns:      the caller owns the result; ABT_barrier_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newbarrier is NULL
 *            ABT_ERR_INV_ARG  num_waiters is 0
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_barrier_create(
    uint32_t num_waiters, ABT_barrier *newbarrier);

/**
 * Change the number of threads that a barrier waits for.
 *
 * @param barrier      [in]  the barrier
 * @param num_waiters  [in]  not 0
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_BARRIER  barrier is NULL
 *            ABT_ERR_INV_ARG  num_waiters is 0
 *            ABT_ERR_BARRIER  a thread waits; nothing changed
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_barrier_reinit(
    ABT_barrier barrier, uint32_t num_waiters);

/**
 * Destroy a barrier.
 *
 * @param barrier  [in,out]  the barrier; becomes ABT_BARRIER_NULL
 * Owns:      the barrier is consumed.
 * Errors:    ABT_ERR_INV_BARRIER  *barrier is ABT_BARRIER_NULL
 *            ABT_ERR_BARRIER  a thread waits; nothing changed
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_barrier_free(ABT_barrier *barrier);

/**
 * Wait until all threads of a barrier have arrived.
 *
 * @param barrier  [in]  the barrier
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_BARRIER  barrier is NULL
 *            ABT_ERR_BARRIER  the caller is a tasklet
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_barrier_wait(ABT_barrier barrier);

/**
 * Get the number of threads that a barrier waits for.
 *
 * @param barrier      [in]  the barrier
 * @param num_waiters  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_BARRIER  barrier is NULL
 *            ABT_ERR_INV_ARG  num_waiters is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_barrier_get_num_waiters(
    ABT_barrier barrier, uint32_t *num_waiters);

#ifdef __cplusplus
}
#endif

#endif
