/* SPDX-License-Identifier: BSD-3-Clause */
/* Capture of the library's log lines as one text, for the checks of a test:
 * hg_log_set_func(log_keep), or HG_Set_log_func(log_keep). */
#ifndef TESTS_LOG_KEPT_H
#define TESTS_LOG_KEPT_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Written by one thread at a time; read when that thread has ended. */
static char log_text[1 << 16];
static size_t log_len;
static atomic_uint log_lines;

static inline int log_keep(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len =
        vsnprintf(log_text + log_len, sizeof(log_text) - log_len, format, args);
    va_end(args);
    if (len > 0 && log_len + (size_t)len < sizeof(log_text))
        log_len += (size_t)len;
    atomic_fetch_add(&log_lines, 1);
    return len;
}

static inline void log_clear(void)
{
    log_len = 0;
    log_text[0] = '\0';
    atomic_store(&log_lines, 0);
}

static inline bool log_has(const char *text)
{
    return strstr(log_text, text) != NULL;
}

#endif
