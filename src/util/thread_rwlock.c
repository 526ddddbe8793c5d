/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks for many readers or one writer. */
#include "mercury_thread_rwlock.h"

#include <pthread.h>
#include <stdalign.h>

#include "base/assert.h"

_Static_assert(sizeof(hg_thread_rwlock_t) >= sizeof(pthread_rwlock_t) &&
                   alignof(hg_thread_rwlock_t) >= alignof(pthread_rwlock_t),
    "hg_thread_rwlock_t has the room of a lock");

static int result_of(int err)
{
    return err == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static pthread_rwlock_t *lock_in(hg_thread_rwlock_t *rwlock)
{
    return (pthread_rwlock_t *)(void *)rwlock->room;
}

int hg_thread_rwlock_init(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_init(lock_in(rwlock), NULL));
}

int hg_thread_rwlock_destroy(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_destroy(lock_in(rwlock)));
}

int hg_thread_rwlock_rdlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_rdlock(lock_in(rwlock)));
}

int hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_tryrdlock(lock_in(rwlock)));
}

int hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_unlock(lock_in(rwlock)));
}

int hg_thread_rwlock_wrlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_wrlock(lock_in(rwlock)));
}

int hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_trywrlock(lock_in(rwlock)));
}

int hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t *rwlock)
{
    if (!AMG_CONTRACT(rwlock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_rwlock_unlock(lock_in(rwlock)));
}
