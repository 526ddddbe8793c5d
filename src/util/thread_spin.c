/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks for a few instructions. */
#include "mercury_thread_spin.h"

#include <pthread.h>

#include "base/assert.h"

_Static_assert(sizeof(hg_thread_spin_t) == sizeof(pthread_spinlock_t),
    "hg_thread_spin_t has the room of a lock");

static int result_of(int err)
{
    return err == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_thread_spin_init(hg_thread_spin_t *lock)
{
    if (!AMG_CONTRACT(lock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE));
}

int hg_thread_spin_destroy(hg_thread_spin_t *lock)
{
    if (!AMG_CONTRACT(lock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_spin_destroy(lock));
}

int hg_thread_spin_lock(hg_thread_spin_t *lock)
{
    if (!AMG_CONTRACT(lock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_spin_lock(lock));
}

int hg_thread_spin_try_lock(hg_thread_spin_t *lock)
{
    if (!AMG_CONTRACT(lock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_spin_trylock(lock));
}

int hg_thread_spin_unlock(hg_thread_spin_t *lock)
{
    if (!AMG_CONTRACT(lock != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_spin_unlock(lock));
}
