/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of mercury_time.h that asks the system. */
#include "mercury_time.h"

#include <errno.h>

#include "base/assert.h"

enum { STAMP_CAP = 64 };

static int clock_read(clockid_t clock, hg_time_t *tv)
{
    if (!AMG_CONTRACT(tv != NULL))
        return HG_UTIL_FAIL;
    return clock_gettime(clock, tv) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_time_get_current(hg_time_t *tv)
{
    return clock_read(CLOCK_MONOTONIC, tv);
}

int hg_time_get_current_ms(hg_time_t *tv)
{
    return clock_read(CLOCK_MONOTONIC_COARSE, tv);
}

int hg_time_sleep(const hg_time_t rqt)
{
    hg_time_t left = rqt;

    while (nanosleep(&left, &left) != 0) {
        if (errno != EINTR)
            return HG_UTIL_FAIL;
    }
    return HG_UTIL_SUCCESS;
}

char *hg_time_stamp(void)
{
    static _Thread_local char stamp[STAMP_CAP];
    time_t now = time(NULL);
    struct tm day;

    if (localtime_r(&now, &day) == NULL ||
        strftime(stamp, sizeof(stamp), "%a %b %d %H:%M:%S %Y", &day) == 0)
        stamp[0] = '\0';
    return stamp;
}
