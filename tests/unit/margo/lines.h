/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture of the log lines of a test, and searches in them. */
#ifndef TESTS_UNIT_MARGO_LINES_H
#define TESTS_UNIT_MARGO_LINES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "margo-logging.h"

enum { LINES_CAP = 16384 };

struct lines {
    char warnings[LINES_CAP];
    char errors[LINES_CAP];
};

static inline void lines_append(char *text, const char *message)
{
    size_t len = strlen(text);

    (void)snprintf(text + len, LINES_CAP - len, "%s\n", message);
}

static inline void lines_warn(void *uargs, const char *message)
{
    lines_append(((struct lines *)uargs)->warnings, message);
}

static inline void lines_fail(void *uargs, const char *message)
{
    lines_append(((struct lines *)uargs)->errors, message);
}

static inline void lines_drop(void *uargs, const char *message)
{
    (void)uargs;
    (void)message;
}

static inline void lines_clear(struct lines *lines)
{
    lines->warnings[0] = '\0';
    lines->errors[0] = '\0';
}

/* Captures warnings and errors; drops other lines. */
static inline struct margo_logger lines_logger(struct lines *lines)
{
    lines_clear(lines);
    return (struct margo_logger){
        .uargs = lines,
        .trace = lines_drop,
        .debug = lines_drop,
        .info = lines_drop,
        .warning = lines_warn,
        .error = lines_fail,
        .critical = lines_fail,
    };
}

static inline bool lines_warned(const struct lines *lines, const char *words)
{
    return strstr(lines->warnings, words) != NULL;
}

static inline bool lines_failed(const struct lines *lines, const char *words)
{
    return strstr(lines->errors, words) != NULL;
}

#endif
