/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines of Margo, and of programs that use its log.
 *
 * Each instance has a logger and a level; a global pair serves lines of no
 * instance, and is the default of new instances. The default logger writes
 * "[level] text" and a newline to the standard error output. The global level
 * is MARGO_LOG_WARNING, or what the environment variable MARGO_LOG_LEVEL says:
 * trace, debug, info, warning, error or critical. */
#ifndef MARGO_LOGGING_H
#define MARGO_LOGGING_H

#include "mercury_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Also in margo.h, which needs this header first. */
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

/* Receives the line to print, without level or newline. */
typedef void (*margo_log_fn_t)(void *uargs, const char *message);

/* Destination of lines. Any thread may call the functions, also several at the
 * same time; they must not wait for calls of Margo. */
struct margo_logger {
    void *uargs; /* handed to each of them */
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
 * Owns:      `uargs` must live as long as the instance, or until the next call.
 * Errors:    -1 logger or one of its functions is NULL
 * Threads:   any thread, while no other one logs; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_logger(
    margo_instance_id mid, const struct margo_logger *logger);

/**
 * Set the log level of an instance.
 *
 * @param mid    [in]  NULL: those of no instance
 * @param level  [in]  lines below it are dropped
 * Owns:      nothing changes hands.
 * Errors:    -1 the level is none of the list
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_log_level(margo_instance_id mid, margo_log_level level);

/**
 * Set the logger for lines of no instance, and of instances created afterwards.
 *
 * @param logger  [in]  copied; none of its functions is NULL
 * Owns:      `uargs` must live until the next call, and as long as instances
 *            that were made meanwhile.
 * Errors:    -1 logger or one of its functions is NULL
 * Threads:   any thread, while no other one logs; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_global_logger(const struct margo_logger *logger);

/**
 * Set the log level for lines of no instance, and of instances created
 * afterwards.
 *
 * @param level  [in]  lines below it are dropped
 * Owns:      nothing changes hands.
 * Errors:    -1 the level is none of the list
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_global_log_level(margo_log_level level);

/**
 * Log a line at level trace: single steps, for developers.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_trace(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level debug.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_debug(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level info.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_info(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level warning: something is wrong, and the program goes on.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_warning(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level error: something failed.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_error(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Log a line at level critical: the program cannot go on.
 *
 * @param mid  [in]  NULL: the global logger
 * @param fmt  [in]  as of printf(), with its arguments
 * Owns:      nothing changes hands.
 * Errors:    none. Without memory a long line is cut.
 * Threads:   any thread; as long as the logger takes.
 * Undefined: arguments that are not those of `fmt`.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_critical(margo_instance_id mid, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
