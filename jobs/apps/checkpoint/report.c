/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the person who waits: errors, notes, and the count of errors. */
#include "jobs/apps/checkpoint/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line holds two long paths and some words. */
enum { LINE_LEN = 9000 };

static int who = -1;
static unsigned long errors;

/* One write, so that the lines of several ranks do not mix. */
static void line_write(const char *kind, const char *format, va_list args)
{
    char line[LINE_LEN];
    size_t len = 0;

    snprintf(line, sizeof(line), "checkpoint: rank %d: %s", who, kind);
    len = strlen(line);
    vsnprintf(line + len, sizeof(line) - len - 1, format, args);
    len = strlen(line);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nobody to tell; the exit code still says it */
}

void report_rank_set(int rank)
{
    who = rank;
}

void report_error(const char *format, ...)
{
    va_list args;

    errors++;
    va_start(args, format);
    line_write("", format, args);
    va_end(args);
}

void report_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line_write("note: ", format, args);
    va_end(args);
}

unsigned long report_error_count(void)
{
    return errors;
}
