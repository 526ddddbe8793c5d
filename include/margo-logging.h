/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of Margo, and of programs that use its log.
 *
 * Each instance has a logger and a level. Lines of no instance have a global
 * logger and level, which are also the defaults of new instances. The default
 * logger writes "[level] text" and a newline to the standard error output. The
 * default level is that of the environment variable MARGO_LOG_LEVEL (trace,
 * debug, info, warning, error, critical or external), or MARGO_LOG_WARNING. */
#ifndef MARGO_LOGGING_H
#define MARGO_LOGGING_H

#include "mercury_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Declared here, as margo-types.h includes this header. */
typedef struct margo_instance *margo_instance_id;

/* In order of severity; lines below the current level are dropped. */
typedef enum margo_log_level {
    MARGO_LOG_EXTERNAL, /* nothing is dropped: the logger decides */
    MARGO_LOG_TRACE,
    MARGO_LOG_DEBUG,
    MARGO_LOG_INFO,
    MARGO_LOG_WARNING,
    MARGO_LOG_ERROR,
    MARGO_LOG_CRITICAL
} margo_log_level;

/* Receives a line, without level or newline. */
typedef void (*margo_log_fn_t)(void *uargs, const char *message);

/* Functions that write lines, one for each level. Any thread may call them,
 * several at the same time; the functions must not wait for calls of Margo. */
struct margo_logger {
    void *uargs; /* passed to each function */
    margo_log_fn_t trace;
    margo_log_fn_t debug;
    margo_log_fn_t info;
    margo_log_fn_t warning;
    margo_log_fn_t error;
    margo_log_fn_t critical;
};

/**
 * Set the logger of an instance.
 *
 * @param mid     [in]  NULL: the global logger
 * @param logger  [in]  copied; none of its functions is NULL
 * Owns:      `uargs` must live until the instance ends or gets another logger.
 * Errors:    -1 logger or one of its functions is NULL
 * Threads:   any thread, while no other thread logs; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_logger(
    margo_instance_id mid, const struct margo_logger *logger);

/**
 * Set the log level of an instance.
 *
 * @param mid    [in]  NULL: the level of lines of no instance
 * @param level  [in]  lines below this level are dropped
 * Owns:      nothing changes hands.
 * Errors:    -1 no such level
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_log_level(margo_instance_id mid, margo_log_level level);

/**
 * Set the logger for lines of no instance, and of instances created afterwards.
 *
 * @param logger  [in]  copied; none of its functions is NULL
 * Owns:      `uargs` must live until the next call of this function, and until
 *            the end of all instances that were created before that next call.
 * Errors:    -1 logger or one of its functions is NULL
 * Threads:   any thread, while no other thread logs; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_global_logger(const struct margo_logger *logger);

/**
 * Set the log level for lines of no instance, and of instances created
 * afterwards.
 *
 * @param level  [in]  lines below this level are dropped
 * Owns:      nothing changes hands.
 * Errors:    -1 no such level
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_global_log_level(margo_log_level level);

/**
 * Log a line at level trace: single steps, for developers.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_trace(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level debug.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_debug(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level info.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_info(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level warning: something is wrong, and the program continues.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_warning(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level error: something failed.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_error(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level critical: the program cannot go on.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as for printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; blocks as long as the logger does.
 * Undefined: the arguments do not match `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_critical(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
