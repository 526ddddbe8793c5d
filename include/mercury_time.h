/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and durations, on a monotonic clock. */
#ifndef MERCURY_TIME_H
#define MERCURY_TIME_H

#include <time.h>

#include "mercury_util_config.h"

/* A duration, or the time since a fixed point, which stays the same until the
 * machine reboots. 0 <= tv_nsec < 10^9 even for a negative duration: tv_sec is
 * rounded down. */
typedef struct timespec hg_time_t;

/* Maximum length of a result of hg_time_stamp(), NUL counted. */
#define HG_UTIL_STAMP_MAX 128

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the current time, with a resolution of nanoseconds.
 *
 * @param tv  [out]  the time
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL tv is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_time_get_current(hg_time_t *tv);

/**
 * Get the current time, with a resolution of some milliseconds, at less cost.
 *
 * @param tv  [out]  the time
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL tv is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_time_get_current_ms(hg_time_t *tv);

/**
 * Sleep for a duration; a signal does not shorten it.
 *
 * @param rqt  [in]  not negative
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL rqt is no valid duration
 * Threads:   any thread; sleeps for that duration.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_time_sleep(const hg_time_t rqt);

/**
 * Get date and time of day as text, for a log: "Sat Nov 21 15:29:53 2026".
 *
 * Owns:      the result is borrowed from the calling thread, until the thread
 *            calls again.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but each thread has its own buffer.
 */
HG_UTIL_PUBLIC char *hg_time_stamp(void);

/**
 * Convert a duration to seconds.
 *
 * @param tv  [in]  the duration
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE double hg_time_to_double(hg_time_t tv)
{
    return (double)tv.tv_sec + (double)tv.tv_nsec * 1e-9;
}

/**
 * Convert seconds to a duration, rounded down to nanoseconds.
 *
 * @param d  [in]  the seconds
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the result exceeds the range of tv_sec.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE hg_time_t hg_time_from_double(double d)
{
    hg_time_t tv;

    tv.tv_sec = (time_t)d;
    if ((double)tv.tv_sec > d)
        tv.tv_sec--;
    tv.tv_nsec = (long)((d - (double)tv.tv_sec) * 1e9);
    /* The product may have been rounded up to a full second. */
    if (tv.tv_nsec >= 1000000000) {
        tv.tv_sec++;
        tv.tv_nsec -= 1000000000;
    }
    return tv;
}

/**
 * Convert a duration to milliseconds, rounded down.
 *
 * @param tv  [in]  not negative
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the result exceeds the range of unsigned int.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE unsigned int hg_time_to_ms(hg_time_t tv)
{
    return (unsigned int)(tv.tv_sec * 1000 + tv.tv_nsec / 1000000);
}

/**
 * Convert milliseconds to a duration.
 *
 * @param ms  [in]  the milliseconds
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE hg_time_t hg_time_from_ms(unsigned int ms)
{
    hg_time_t tv;

    tv.tv_sec = (time_t)(ms / 1000);
    tv.tv_nsec = (long)(ms % 1000) * 1000000;
    return tv;
}

/**
 * Tell whether `in1` is before `in2`.
 *
 * @param in1  [in]  the first time
 * @param in2  [in]  the second time
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE bool hg_time_less(hg_time_t in1, hg_time_t in2)
{
    return in1.tv_sec < in2.tv_sec ||
           (in1.tv_sec == in2.tv_sec && in1.tv_nsec < in2.tv_nsec);
}

/**
 * Compute the seconds from `in2` to `in1`.
 *
 * @param in1  [in]  the first time
 * @param in2  [in]  the second time
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE double hg_time_diff(hg_time_t in1, hg_time_t in2)
{
    return (double)(in1.tv_sec - in2.tv_sec) +
           (double)(in1.tv_nsec - in2.tv_nsec) * 1e-9;
}

/**
 * Add two times.
 *
 * @param in1  [in]  a time, or a duration
 * @param in2  [in]  a duration
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: the result exceeds the range of tv_sec.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE hg_time_t hg_time_add(hg_time_t in1, hg_time_t in2)
{
    hg_time_t sum;

    sum.tv_sec = in1.tv_sec + in2.tv_sec;
    sum.tv_nsec = in1.tv_nsec + in2.tv_nsec;
    if (sum.tv_nsec >= 1000000000) {
        sum.tv_sec++;
        sum.tv_nsec -= 1000000000;
    }
    return sum;
}

/**
 * Subtract `in2` from `in1`.
 *
 * @param in1  [in]  the first time
 * @param in2  [in]  the second time
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE hg_time_t hg_time_subtract(hg_time_t in1, hg_time_t in2)
{
    hg_time_t rest;

    rest.tv_sec = in1.tv_sec - in2.tv_sec;
    rest.tv_nsec = in1.tv_nsec - in2.tv_nsec;
    if (rest.tv_nsec < 0) {
        rest.tv_sec--;
        rest.tv_nsec += 1000000000;
    }
    return rest;
}

#ifdef __cplusplus
}
#endif

#endif
