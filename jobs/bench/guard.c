/* SPDX-License-Identifier: BSD-3-Clause */
/* A deadline for whatever a rank is doing.
 *
 * By the alarm signal: it needs no thread, which would take its share of a
 * core, and no look at a clock among the calls that are measured. */
#include "guard.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int rank;
    unsigned deadline_s;
    char last_words[256]; /* what the handler writes; it cannot format */
} guard;

static void alarm_rang(int number)
{
    ssize_t written =
        write(STDERR_FILENO, guard.last_words, strlen(guard.last_words));

    (void)number;
    _exit(written < 0 ? EXIT_FAILURE + 1 : EXIT_FAILURE);
}

void guard_init(int rank, unsigned deadline_s)
{
    struct sigaction action = {.sa_handler = alarm_rang};

    guard.rank = rank;
    guard.deadline_s = deadline_s;
    sigaction(SIGALRM, &action, NULL);
}

void guard_step(const char *format, ...)
{
    size_t cap = sizeof(guard.last_words);
    char what[128];
    va_list args;

    alarm(0);
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(guard.last_words, cap,
        "amalgam_bench: rank %d: not done after %u s: %s; is the other rank "
        "alive? --deadline gives it longer\n",
        guard.rank, guard.deadline_s, what);
    alarm(guard.deadline_s);
}

void guard_rest(void)
{
    alarm(0);
}
