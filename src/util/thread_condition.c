/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends conditions, and waits for them for a time.
 *
 * The wait names its clock itself, so that a condition made by its initialiser,
 * whose own clock may be set back, keeps time as well. */
#include "mercury_thread_condition.h"

#include <time.h>

#include "base/assert.h"
#include "base/clock.h"

enum { NS_PER_S = 1000000000 };

int hg_thread_cond_init(hg_thread_cond_t *cond)
{
    if (!AMG_CONTRACT(cond != NULL))
        return HG_UTIL_FAIL;
    return pthread_cond_init(cond, NULL) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_thread_cond_destroy(hg_thread_cond_t *cond)
{
    if (!AMG_CONTRACT(cond != NULL))
        return HG_UTIL_FAIL;
    return pthread_cond_destroy(cond) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_thread_cond_timedwait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex, unsigned int timeout)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout);
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };

    if (!AMG_CONTRACT(cond != NULL) || !AMG_CONTRACT(mutex != NULL))
        return HG_UTIL_FAIL;
    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) == 0
               ? HG_UTIL_SUCCESS
               : HG_UTIL_FAIL;
}
