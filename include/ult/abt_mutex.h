/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes. */
#ifndef ABT_MUTEX_H
#define ABT_MUTEX_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a mutex.
 *
 * @param newmutex  [out]  the mutex
 * Owns:      the caller owns the result; ABT_mutex_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newmutex is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_create(ABT_mutex *newmutex);

/**
 * Create a mutex with attributes.
 *
 * @param attr      [in]  may be ABT_MUTEX_ATTR_NULL
 * @param newmutex  [out]  the mutex
 * Owns:      the caller owns the result; ABT_mutex_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newmutex is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_create_with_attr(
    ABT_mutex_attr attr, ABT_mutex *newmutex);

/**
 * Destroy a mutex that was created.
 *
 * @param mutex  [in,out]  the mutex; becomes ABT_MUTEX_NULL
 * Owns:      the mutex is consumed.
 * Errors:    ABT_ERR_INV_MUTEX  *mutex is ABT_MUTEX_NULL
 *            ABT_ERR_MUTEX  a thread waits; nothing changed
 * Threads:   one thread, when no other uses the mutex.
 * Undefined: a thread holds the mutex.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_free(ABT_mutex *mutex);

/**
 * Lock a mutex.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_lock(ABT_mutex mutex);

/**
 * Lock a mutex, as ABT_mutex_lock() does.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_lock_low(ABT_mutex mutex);

/**
 * Lock a mutex, as ABT_mutex_lock() does.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_lock_high(ABT_mutex mutex);

/**
 * Lock a mutex if it is free, or recursive and held by the caller.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_MUTEX_LOCKED  a thread holds the mutex
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_trylock(ABT_mutex mutex);

/**
 * Lock a mutex that is expected to be free soon.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2, but spins for a limited time.
 */
ABT_API_PUBLIC int ABT_mutex_spinlock(ABT_mutex mutex);

/**
 * Unlock a mutex.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_MUTEX  no thread holds the mutex
 *            ABT_ERR_INV_THREAD  the mutex is recursive, and the caller does
 *              not hold the mutex
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_unlock(ABT_mutex mutex);

/**
 * Unlock a mutex, as ABT_mutex_unlock() does.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_MUTEX, ABT_ERR_INV_THREAD  as for ABT_mutex_unlock()
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_unlock_se(ABT_mutex mutex);

/**
 * Unlock a mutex, as ABT_mutex_unlock() does.
 *
 * @param mutex  [in]  the mutex
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_MUTEX, ABT_ERR_INV_THREAD  as for ABT_mutex_unlock()
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_unlock_de(ABT_mutex mutex);

/**
 * Tell whether two mutexes are the same.
 *
 * @param mutex1  [in]  the mutex
 * @param mutex2  [in]  the mutex
 * @param result  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  result is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_equal(
    ABT_mutex mutex1, ABT_mutex mutex2, ABT_bool *result);

/**
 * Get the attributes of a mutex.
 *
 * @param mutex  [in]  the mutex
 * @param attr   [out]  the attributes
 * Owns:      the caller owns the result; ABT_mutex_attr_free() frees it.
 * Errors:    ABT_ERR_INV_MUTEX  mutex is NULL
 *            ABT_ERR_INV_ARG  attr is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_get_attr(ABT_mutex mutex, ABT_mutex_attr *attr);

/**
 * Create mutex attributes with the default: not recursive.
 *
 * @param newattr  [out]  the attributes
 * Owns:      the caller owns the result; ABT_mutex_attr_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newattr is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_attr_create(ABT_mutex_attr *newattr);

/**
 * Destroy attributes of mutexes.
 *
 * @param attr  [in,out]  the attributes; becomes ABT_MUTEX_ATTR_NULL
 * Owns:      the attributes are consumed; mutexes created with them are not
 *            affected.
 * Errors:    ABT_ERR_INV_MUTEX_ATTR  *attr is ABT_MUTEX_ATTR_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_attr_free(ABT_mutex_attr *attr);

/**
 * Choose whether the holder of a mutex with these attributes may lock it again.
 *
 * @param attr       [in]  the attributes
 * @param recursive  [in]  ABT_TRUE: yes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX_ATTR  attr is NULL
 * Threads:   any thread, one at a time per attr; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_attr_set_recursive(
    ABT_mutex_attr attr, ABT_bool recursive);

/**
 * Tell whether the holder of a mutex with these attributes may lock it again.
 *
 * @param attr       [in]  the attributes
 * @param recursive  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_MUTEX_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  recursive is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_mutex_attr_get_recursive(
    ABT_mutex_attr attr, ABT_bool *recursive);

#ifdef __cplusplus
}
#endif

#endif
