/* SPDX-License-Identifier: BSD-3-Clause */
/* The loggers of instances, and the global logger.
 *
 * The program must not set a logger while a thread logs; the level may change
 * at any time. */
#include "margo/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/mem.h"
#include "margo/instance.h"

enum { LINE_CAP = 512 /* longer lines are formatted on the heap */ };

static const char *const level_names[] = {
    [MARGO_LOG_EXTERNAL] = "external",
    [MARGO_LOG_TRACE] = "trace",
    [MARGO_LOG_DEBUG] = "debug",
    [MARGO_LOG_INFO] = "info",
    [MARGO_LOG_WARNING] = "warning",
    [MARGO_LOG_ERROR] = "error",
    [MARGO_LOG_CRITICAL] = "critical",
};

enum { LEVELS = sizeof(level_names) / sizeof(level_names[0]) };

/* `to` has no functions until the program sets them: lines go to stderr. */
static struct amg_margo_log log_global = {
    .level = -1, /* log_level() has not read MARGO_LOG_LEVEL yet */
};

/* The level that MARGO_LOG_LEVEL names, or the default. */
static int level_of_environment(void)
{
    const char *text = amg_env_text(AMG_ENV_MARGO_LOG_LEVEL);

    for (int level = 0; text != NULL && level < LEVELS; level++)
        if (strcmp(text, level_names[level]) == 0)
            return level;
    if (text != NULL)
        fprintf(stderr,
            "[warning] MARGO_LOG_LEVEL is '%s', but must be trace, debug, "
            "info, warning, error, critical or external; using warning\n",
            text);
    return MARGO_LOG_WARNING;
}

static int log_level(const struct amg_margo_log *log)
{
    int level = atomic_load_explicit(&log->level, memory_order_relaxed);

    if (level >= 0)
        return level;
    /* The global level is not set: the first thread to store a level wins. */
    int wanted = level_of_environment();
    if (atomic_compare_exchange_strong_explicit(&log_global.level, &level,
            wanted, memory_order_relaxed, memory_order_relaxed))
        return wanted;
    return level;
}

static margo_log_fn_t log_function(
    const struct margo_logger *logger, margo_log_level level)
{
    const margo_log_fn_t functions[LEVELS] = {
        [MARGO_LOG_TRACE] = logger->trace,
        [MARGO_LOG_DEBUG] = logger->debug,
        [MARGO_LOG_INFO] = logger->info,
        [MARGO_LOG_WARNING] = logger->warning,
        [MARGO_LOG_ERROR] = logger->error,
        [MARGO_LOG_CRITICAL] = logger->critical,
    };

    return functions[level];
}

static void log_print(const struct amg_margo_log *log, margo_log_level level,
    const char *fmt, va_list args)
{
    margo_log_fn_t print = NULL;
    char line[LINE_CAP];
    char *longer = NULL;
    va_list again;
    int len = 0;

    if ((int)level < log_level(log))
        return;
    print = log_function(&log->to, level);
    va_copy(again, args);
    len = vsnprintf(line, sizeof(line), fmt, args);
    if (len >= (int)sizeof(line))
        longer = amg_mem_alloc((size_t)len + 1);
    if (longer != NULL)
        (void)vsnprintf(longer, (size_t)len + 1, fmt, again);
    va_end(again);
    if (len >= 0 && print != NULL)
        print(log->to.uargs, longer != NULL ? longer : line);
    else if (len >= 0)
        fprintf(stderr, "[%s] %s\n", level_names[level],
            longer != NULL ? longer : line);
    amg_mem_free(longer);
}

void amg_margo_log_init(
    struct amg_margo_log *log, const struct margo_logger *own)
{
    log->to = own != NULL ? *own : log_global.to;
    atomic_init(&log->level, log_level(&log_global));
}

void amg_margo_log_write(const struct amg_margo_log *log, margo_log_level level,
    const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    log_print(log, level, fmt, args);
    va_end(args);
}

static int logger_set(struct amg_margo_log *log, const struct margo_logger *to)
{
    if (to == NULL || to->trace == NULL || to->debug == NULL ||
        to->info == NULL || to->warning == NULL || to->error == NULL ||
        to->critical == NULL) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "a logger was not set: the logger or one of its functions is NULL");
        return -1;
    }
    log->to = *to;
    return 0;
}

static int level_set(struct amg_margo_log *log, margo_log_level level)
{
    if ((int)level < 0 || (int)level >= LEVELS) {
        amg_margo_log_write(log, MARGO_LOG_ERROR,
            "the log level %d was not set: there are 0 (external) to %d "
            "(critical)",
            (int)level, LEVELS - 1);
        return -1;
    }
    atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
    return 0;
}

int margo_set_logger(margo_instance_id mid, const struct margo_logger *logger)
{
    return logger_set(mid == NULL ? &log_global : mid->log, logger);
}

int margo_set_log_level(margo_instance_id mid, margo_log_level level)
{
    return level_set(mid == NULL ? &log_global : mid->log, level);
}

int margo_set_global_logger(const struct margo_logger *logger)
{
    return logger_set(&log_global, logger);
}

int margo_set_global_log_level(margo_log_level level)
{
    return level_set(&log_global, level);
}

/* LINE(info, MARGO_LOG_INFO) is margo_info(). */
#define LINE(name, level)                                                      \
    void margo_##name(margo_instance_id mid, const char *fmt, ...)             \
    {                                                                          \
        va_list args;                                                          \
                                                                               \
        va_start(args, fmt);                                                   \
        log_print(mid == NULL ? &log_global : mid->log, level, fmt, args);     \
        va_end(args);                                                          \
    }

LINE(trace, MARGO_LOG_TRACE)
LINE(debug, MARGO_LOG_DEBUG)
LINE(info, MARGO_LOG_INFO)
LINE(warning, MARGO_LOG_WARNING)
LINE(error, MARGO_LOG_ERROR)
LINE(critical, MARGO_LOG_CRITICAL)
