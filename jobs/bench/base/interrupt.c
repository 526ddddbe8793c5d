/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run from outside: by a signal.
 *
 * What was measured is on disk already, so that the handler has only to say
 * where; and mpiexec ends the other ranks. */
#include "jobs/bench/base/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_CAP = 5000 };

/* The signals, and what the handler writes; it cannot format. */
static struct {
    int number;
    const char *name;
    char line[LINE_CAP];
} ends[] = {
    {.number = SIGINT, .name = "SIGINT"},
    {.number = SIGTERM, .name = "SIGTERM"},
    {.number = SIGHUP, .name = "SIGHUP"},
};

enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

static void signal_came(int number)
{
    ssize_t written = 0;

    for (unsigned i = 0; i < ENDS; i++)
        if (ends[i].number == number)
            written = write(STDERR_FILENO, ends[i].line, strlen(ends[i].line));
    (void)written;
    _exit(INTERRUPT_EXIT + number);
}

void interrupt_init(const char *words)
{
    struct sigaction action = {.sa_handler = signal_came};

    for (unsigned i = 0; i < ENDS; i++) {
        if (words != NULL)
            snprintf(ends[i].line, LINE_CAP,
                "\namalgam_bench: ended by %s; %s\n", ends[i].name, words);
        sigaction(ends[i].number, &action, NULL);
    }
}
