/* SPDX-License-Identifier: BSD-3-Clause */
/* A line on the terminal that tells what is being measured.
 *
 * It is written to stderr between two batches, a few times a second, and only
 * if that is a terminal. What mpiexec passes on is a pipe: AMALGAM_TERMINAL, as
 * jobs/run sets it, says that there is a terminal behind it. */
#include "jobs/bench/base/meter.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "jobs/bench/base/clock.h"

#define ERASER "\r\033[K"

enum { WIDTH = 79, EACH_US = 200000, WHAT_CAP = 64, LINE_CAP = 160 };

static struct {
    bool is_on;
    bool is_shown;
    double start_us;
    double shown_us;
    char what[WHAT_CAP];
} meter;

void meter_init(void)
{
    const char *terminal = getenv("AMALGAM_TERMINAL");

    meter.is_on =
        isatty(STDERR_FILENO) || (terminal != NULL && terminal[0] == '1');
    meter.start_us = clock_now_us();
}

static void line_show(const char *rest)
{
    double now_us = clock_now_us();
    char line[LINE_CAP];

    snprintf(line, sizeof(line), "%s%s, %.0f s", meter.what, rest,
        (now_us - meter.start_us) * 1e-6);
    fprintf(stderr, ERASER "%.*s", WIDTH, line);
    fflush(stderr);
    meter.is_shown = true;
    meter.shown_us = now_us;
}

void meter_begin(const char *format, ...)
{
    va_list args;

    if (!meter.is_on)
        return;
    va_start(args, format);
    vsnprintf(meter.what, sizeof(meter.what), format, args);
    va_end(args);
    line_show("");
}

void meter_tick(unsigned part, unsigned parts)
{
    char rest[WHAT_CAP];

    if (!meter.is_on || clock_now_us() < meter.shown_us + EACH_US)
        return;
    snprintf(rest, sizeof(rest), ": batch %u of %u", part + 1, parts);
    line_show(rest);
}

void meter_erase(void)
{
    if (!meter.is_shown)
        return;
    fputs(ERASER, stderr);
    fflush(stderr);
    meter.is_shown = false;
}

const char *meter_eraser(void)
{
    return meter.is_on ? ERASER : "";
}
