/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines: a level, an outlet, and text for a person.
 *
 * A line is put together in a buffer on the stack and written by one call, so
 * lines of several threads do not mix. Level and outlets come from the
 * environment the first time anybody asks. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"

enum { LINE_CAP = 1024, OUTLETS_CAP = 256, WHO_CAP = 64 };

static const char *const log_names[AMG_LOG_LEVEL_COUNT] = {
    [AMG_LOG_LEVEL_NONE] = "none",
    [AMG_LOG_LEVEL_FATAL] = "fatal",
    [AMG_LOG_LEVEL_ERROR] = "error",
    [AMG_LOG_LEVEL_WARNING] = "warning",
    [AMG_LOG_LEVEL_MIN_DEBUG] = "min_debug",
    [AMG_LOG_LEVEL_INFO] = "info",
    [AMG_LOG_LEVEL_DEBUG] = "debug",
};

static pthread_once_t log_once = PTHREAD_ONCE_INIT;
static atomic_int log_level = AMG_LOG_LEVEL_WARNING;
/* Guards the texts and streams below; taken only while a line is written. */
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char log_outlets[OUTLETS_CAP]; /* "" shows all */
static char log_who[WHO_CAP];
static amg_log_write_fn log_func;
static FILE *log_streams[AMG_LOG_LEVEL_COUNT];

static void log_start(void)
{
    const char *level = amg_env_text(AMG_ENV_LOG_LEVEL);
    const char *outlets = amg_env_text(AMG_ENV_LOG_SUBSYS);

    if (level != NULL && amg_log_level_of(level) != AMG_LOG_LEVEL_COUNT)
        atomic_store_explicit(
            &log_level, (int)amg_log_level_of(level), memory_order_relaxed);
    if (outlets != NULL)
        snprintf(log_outlets, sizeof(log_outlets), "%s", outlets);
}

/* Is `outlet` shown by the list? Names only hidden leave all others shown. */
static bool outlet_is_shown(const char *outlet)
{
    size_t len = strlen(outlet);
    const char *word = log_outlets;
    bool any_shown = false;

    while (*word != '\0') {
        size_t word_len = strcspn(word, ",");
        bool hides = word[0] == '~';
        const char *name = word + (hides ? 1 : 0);
        size_t name_len = word_len - (hides ? 1 : 0);

        any_shown = any_shown || !hides;
        if (name_len == len && strncmp(name, outlet, len) == 0)
            return !hides;
        if (!hides && name_len == 2 && strncmp(name, "hg", 2) == 0)
            return true;
        word += word_len + (word[word_len] == ',' ? 1 : 0);
    }
    return !any_shown;
}

bool amg_log_is_on(enum amg_log_level level)
{
    pthread_once(&log_once, log_start);
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void amg_log_write(
    enum amg_log_level level, const char *outlet, const char *format, ...)
{
    char text[LINE_CAP];
    FILE *stream = NULL;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&log_mutex);
    stream = log_streams[level] == NULL ? stderr : log_streams[level];
    if (outlet_is_shown(outlet)) {
        amg_log_write_fn func = log_func == NULL ? fprintf : log_func;

        func(stream, "amalgam%s%s%s: %s: %s: %s\n",
            log_who[0] == '\0' ? "" : " [", log_who,
            log_who[0] == '\0' ? "" : "]", log_names[level], outlet, text);
    }
    pthread_mutex_unlock(&log_mutex);
}

enum amg_log_level amg_log_level_get(void)
{
    pthread_once(&log_once, log_start);
    return (enum amg_log_level)atomic_load_explicit(
        &log_level, memory_order_relaxed);
}

void amg_log_level_set(enum amg_log_level level)
{
    pthread_once(&log_once, log_start);
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

enum amg_log_level amg_log_level_of(const char *name)
{
    unsigned level = 0;

    while (
        level < AMG_LOG_LEVEL_COUNT && strcasecmp(name, log_names[level]) != 0)
        level++;
    return (enum amg_log_level)level;
}

void amg_log_subsys_set(const char *list)
{
    pthread_once(&log_once, log_start);
    pthread_mutex_lock(&log_mutex);
    snprintf(log_outlets, sizeof(log_outlets), "%s", list == NULL ? "" : list);
    pthread_mutex_unlock(&log_mutex);
}

void amg_log_func_set(amg_log_write_fn func)
{
    pthread_mutex_lock(&log_mutex);
    log_func = func;
    pthread_mutex_unlock(&log_mutex);
}

void amg_log_stream_set(enum amg_log_level level, FILE *stream)
{
    if (level >= AMG_LOG_LEVEL_COUNT)
        return;
    pthread_mutex_lock(&log_mutex);
    log_streams[level] = stream;
    pthread_mutex_unlock(&log_mutex);
}

void amg_log_who_set(const char *who)
{
    pthread_mutex_lock(&log_mutex);
    snprintf(log_who, sizeof(log_who), "%s", who);
    pthread_mutex_unlock(&log_mutex);
}
