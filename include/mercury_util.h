/* SPDX-License-Identifier: BSD-3-Clause */
/* Version and log of the helpers.
 *
 * There is one log for the library, the helpers and the outlets of programs;
 * see mercury_log.h. The calls below are other names of HG_Set_log_*(), for
 * programs that use only the helpers. */
#ifndef MERCURY_UTIL_H
#define MERCURY_UTIL_H

#include <stdio.h>

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the version of the API that the library offers.
 *
 * @param major  [out]  may be NULL
 * @param minor  [out]  may be NULL
 * @param patch  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int HG_Util_version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/**
 * Set the log level; as HG_Set_log_level().
 *
 * @param level  [in]  "none", "fatal", "error", "warning", "min_debug", "info"
 *                     or "debug"
 * Owns:      nothing changes hands.
 * Errors:    an unknown name changes nothing; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the level is that of all outlets.
 */
HG_UTIL_PUBLIC void HG_Util_set_log_level(const char *level);

/**
 * Choose the outlets that write log lines; as HG_Set_log_subsys().
 *
 * @param subsys  [in]  "a,b,~c": shows a and b, hides c; NULL or "" shows all
 *                      but those that are off by default
 * Owns:      nothing changes hands.
 * Errors:    a list of 1024 bytes or more changes nothing; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void HG_Util_set_log_subsys(const char *subsys);

/**
 * Set the function that writes log lines; as HG_Set_log_func().
 *
 * @param log_func  [in]  called as fprintf() would be; NULL: fprintf() itself
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; may wait while a line is written. `log_func` may be
 *            called by any thread that calls the library, one at a time.
 * Undefined: `log_func` calls the library.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void HG_Util_set_log_func(
    int (*log_func)(FILE *stream, const char *format, ...));

/**
 * Set the stream to which log lines of a level are written; as
 * HG_Set_log_stream().
 *
 * @param level   [in]  a name as for HG_Util_set_log_level(); "fatal" and
 *                      "error" share a stream, and so do "min_debug", "info"
 *                      and "debug"
 * @param stream  [in]  NULL: stderr again
 * Owns:      the stream stays the caller's, and open until another is set.
 * Errors:    an unknown name changes nothing; the log says so.
 * Threads:   any thread; may wait while a line is written.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void HG_Util_set_log_stream(const char *level, FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
