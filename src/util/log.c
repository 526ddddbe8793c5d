/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions that configure the log, and write to it. */
#include "base/log.h"

#include <string.h>

#include "mercury_class.h"
#include "mercury_log.h"

/* The level called `name`. HG_LOG_LEVEL_MAX: there is none, which is logged. */
static enum hg_log_level level_named(const char *name)
{
    enum hg_log_level level = hg_log_name_to_level(name);

    if (level == HG_LOG_LEVEL_MAX)
        AMG_LOG_WARNING("cls",
            "'%s' is no log level (none, fatal, error, warning, min_debug, "
            "info, debug); nothing is changed",
            name != NULL ? name : "NULL");
    return level;
}

void HG_Set_log_level(const char *level)
{
    enum hg_log_level found = level_named(level);

    if (found != HG_LOG_LEVEL_MAX)
        hg_log_set_level(found);
}

void HG_Set_log_subsys(const char *subsys)
{
    hg_log_set_subsys(subsys);
}

void HG_Set_log_func(int (*log_func)(FILE *stream, const char *format, ...))
{
    hg_log_set_func(log_func);
}

void HG_Set_log_stream(const char *level, FILE *stream)
{
    switch (level_named(level)) {
    case HG_LOG_LEVEL_FATAL:
    case HG_LOG_LEVEL_ERROR:
        hg_log_set_stream_error(stream);
        break;
    case HG_LOG_LEVEL_WARNING:
        hg_log_set_stream_warning(stream);
        break;
    case HG_LOG_LEVEL_MIN_DEBUG:
    case HG_LOG_LEVEL_INFO:
    case HG_LOG_LEVEL_DEBUG:
        hg_log_set_stream_debug(stream);
        break;
    default: /* level none, which writes nothing, or an unknown level */
        break;
    }
}

void hg_log_dump_counters(struct hg_log_outlet *outlet)
{
    if (outlet != NULL && outlet->debug_log != NULL)
        hg_dlog_dump_counters(
            outlet->debug_log, hg_log_get_func(), hg_log_get_stream_debug(), 0);
}

/* Appends to a text, cut at AMG_LOG_LINE_CAP bytes. Returns the new length. */
HG_PRINTF(3, 4)
static size_t text_add(char *text, size_t len, const char *format, ...)
{
    int more = 0;
    va_list args;

    va_start(args, format);
    more = vsnprintf(text + len, AMG_LOG_LINE_CAP - len, format, args);
    va_end(args);
    len += more > 0 ? (size_t)more : 0;
    return len < AMG_LOG_LINE_CAP ? len : AMG_LOG_LINE_CAP - 1;
}

void hg_log_vwrite(struct hg_log_outlet *outlet, enum hg_log_level log_level,
    const char *file, unsigned int line, const char *func, bool no_return,
    const char *format, va_list ap)
{
    char text[AMG_LOG_LINE_CAP];
    const struct hg_log_outlet *root = outlet;
    size_t len = 0;
    int more = 0;

    if (outlet == NULL || log_level == HG_LOG_LEVEL_NONE ||
        !amg_outlet_shows(outlet, log_level))
        return;
    while (root->parent != NULL)
        root = root->parent;
    text[0] = '\0';
    if (root != outlet)
        len = text_add(text, len, "%s: ", outlet->name);
    more = vsnprintf(text + len, sizeof(text) - len, format, ap);
    len += more > 0 ? (size_t)more : 0;
    len = len < sizeof(text) ? len : sizeof(text) - 1;
    if (file != NULL)
        text_add(text, len, " (%s:%u%s%s)", file, line, func != NULL ? " " : "",
            func != NULL ? func : "");
    amg_log_put(log_level, root->name, text, no_return ? "" : "\n");
    /* Writes the debug log after an error, to show what led to the error. */
    if (log_level <= HG_LOG_LEVEL_ERROR && outlet->debug_log != NULL &&
        amg_outlet_shows(outlet, HG_LOG_LEVEL_MIN_DEBUG))
        hg_dlog_dump(
            outlet->debug_log, hg_log_get_func(), hg_log_get_stream_error(), 1);
}

void hg_log_write(struct hg_log_outlet *outlet, enum hg_log_level log_level,
    const char *file, unsigned int line, const char *func, bool no_return,
    const char *format, ...)
{
    va_list args;

    va_start(args, format);
    hg_log_vwrite(outlet, log_level, file, line, func, no_return, format, args);
    va_end(args);
}

void hg_log_write_debug(struct hg_log_outlet *outlet, const char *file,
    unsigned int line, const char *func, const char *format, ...)
{
    va_list args;

    if (outlet == NULL)
        return;
    if (outlet->debug_log != NULL &&
        amg_outlet_shows(outlet, HG_LOG_LEVEL_MIN_DEBUG))
        hg_dlog_addlog(outlet->debug_log, file, line, func, format, NULL);
    va_start(args, format);
    hg_log_vwrite(
        outlet, HG_LOG_LEVEL_DEBUG, file, line, func, false, format, args);
    va_end(args);
}
