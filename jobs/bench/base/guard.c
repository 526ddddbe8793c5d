/* SPDX-License-Identifier: BSD-3-Clause */
/* A deadline for whatever a rank is doing.
 *
 * By the alarm signal: it needs no thread, which would take its share of a
 * core, and no look at a clock among the calls that are measured. */
#include "jobs/bench/base/guard.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jobs/bench/base/interrupt.h"

enum { GUARD_TAIL_CAP = 4352 };

static struct {
    int rank;
    unsigned deadline_s;
    char tail[GUARD_TAIL_CAP];
    char last_words[256 + GUARD_TAIL_CAP]; /* what the handler writes; it cannot
                                            * format */
} guard;

static void alarm_rang(int number)
{
    ssize_t written =
        write(STDERR_FILENO, guard.last_words, strlen(guard.last_words));

    (void)written;
    _exit(INTERRUPT_EXIT + number);
}

void guard_init(int rank, unsigned deadline_s)
{
    struct sigaction action = {.sa_handler = alarm_rang};

    guard.rank = rank;
    guard.deadline_s = deadline_s;
    sigaction(SIGALRM, &action, NULL);
}

void guard_set_tail(const char *tail)
{
    snprintf(guard.tail, sizeof(guard.tail), "; %s", tail);
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
        "alive? --deadline gives it longer%s\n",
        guard.rank, guard.deadline_s, what, guard.tail);
    alarm(guard.deadline_s);
}

void guard_rest(void)
{
    alarm(0);
}
