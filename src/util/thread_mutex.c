/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends locks that let a waiting thread sleep. */
#include "mercury_thread_mutex.h"

#include "base/assert.h"

static int mutex_init(hg_thread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    int err = 0;

    if (!AMG_CONTRACT(mutex != NULL))
        return HG_UTIL_FAIL;
    err = pthread_mutexattr_init(&attr);
    if (err != 0)
        return HG_UTIL_FAIL;
    err = pthread_mutexattr_settype(&attr, type);
    if (err == 0)
        err = pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return err == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_thread_mutex_init(hg_thread_mutex_t *mutex)
{
    return mutex_init(mutex, PTHREAD_MUTEX_ERRORCHECK);
}

int hg_thread_mutex_init_fast(hg_thread_mutex_t *mutex)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    return mutex_init(mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
#else
    return mutex_init(mutex, PTHREAD_MUTEX_NORMAL);
#endif
}

int hg_thread_mutex_destroy(hg_thread_mutex_t *mutex)
{
    if (!AMG_CONTRACT(mutex != NULL))
        return HG_UTIL_FAIL;
    return pthread_mutex_destroy(mutex) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}
