/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines: a level, an outlet, and text for a person.
 *
 * A line is put together in a buffer on the stack and written by one call, so
 * lines of several threads do not mix. */
#include "base/log.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "base/outlet.h"

enum { WHO_CAP = 64 };

_Static_assert((int)AMG_LOG_LEVEL_COUNT == (int)HG_LOG_LEVEL_MAX,
    "the levels are those of mercury_log.h");

static const char *const log_names[AMG_LOG_LEVEL_COUNT] = {
    [AMG_LOG_LEVEL_NONE] = "none",
    [AMG_LOG_LEVEL_FATAL] = "fatal",
    [AMG_LOG_LEVEL_ERROR] = "error",
    [AMG_LOG_LEVEL_WARNING] = "warning",
    [AMG_LOG_LEVEL_MIN_DEBUG] = "min_debug",
    [AMG_LOG_LEVEL_INFO] = "info",
    [AMG_LOG_LEVEL_DEBUG] = "debug",
};

/* Guards the text and streams below; taken only while a line is written. */
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char log_who[WHO_CAP];
static amg_log_write_fn log_func = fprintf;
static FILE *log_streams[AMG_LOG_LEVEL_COUNT]; /* NULL: stderr */

static FILE *stream_of_locked(enum amg_log_level level)
{
    return log_streams[level] != NULL ? log_streams[level] : stderr;
}

bool amg_log_is_on(enum amg_log_level level)
{
    return amg_outlet_any_shows((enum hg_log_level)level);
}

void amg_log_put(enum amg_log_level level, const char *program,
    const char *text, const char *end)
{
    pthread_mutex_lock(&log_mutex);
    log_func(stream_of_locked(level), "%s%s%s%s: %s: %s%s", program,
        log_who[0] == '\0' ? "" : " [", log_who, log_who[0] == '\0' ? "" : "]",
        log_names[level], text, end);
    pthread_mutex_unlock(&log_mutex);
}

void amg_log_write(
    enum amg_log_level level, const char *outlet, const char *format, ...)
{
    char text[AMG_LOG_LINE_CAP];
    int len = 0;
    va_list args;

    if (!amg_outlet_shows(amg_outlet_find(outlet), (enum hg_log_level)level))
        return;
    len = snprintf(text, sizeof(text), "%s: ", outlet);
    va_start(args, format);
    vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
    va_end(args);
    amg_log_put(level, "amalgam", text, "\n");
}

void amg_log_level_set(enum amg_log_level level)
{
    amg_outlet_set_level((enum hg_log_level)level);
}

enum amg_log_level amg_log_level_of(const char *name)
{
    unsigned level = 0;

    while (
        level < AMG_LOG_LEVEL_COUNT && strcasecmp(name, log_names[level]) != 0)
        level++;
    return (enum amg_log_level)level;
}

const char *amg_log_level_name(enum amg_log_level level)
{
    return level < AMG_LOG_LEVEL_COUNT ? log_names[level] : NULL;
}

void amg_log_func_set(amg_log_write_fn func)
{
    pthread_mutex_lock(&log_mutex);
    log_func = func != NULL ? func : fprintf;
    pthread_mutex_unlock(&log_mutex);
}

amg_log_write_fn amg_log_func_get(void)
{
    amg_log_write_fn func = NULL;

    pthread_mutex_lock(&log_mutex);
    func = log_func;
    pthread_mutex_unlock(&log_mutex);
    return func;
}

void amg_log_stream_set(enum amg_log_level level, FILE *stream)
{
    if (level >= AMG_LOG_LEVEL_COUNT)
        return;
    pthread_mutex_lock(&log_mutex);
    log_streams[level] = stream;
    pthread_mutex_unlock(&log_mutex);
}

FILE *amg_log_stream_get(enum amg_log_level level)
{
    FILE *stream = NULL;

    pthread_mutex_lock(&log_mutex);
    stream = stream_of_locked(level);
    pthread_mutex_unlock(&log_mutex);
    return stream;
}

void amg_log_who_set(const char *who)
{
    pthread_mutex_lock(&log_mutex);
    snprintf(log_who, sizeof(log_who), "%s", who);
    pthread_mutex_unlock(&log_mutex);
}
