/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM: ask for an orderly end. */
#include "jobs/apps/checkpoint/stop.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "jobs/apps/checkpoint/partial.h"

/* mpiexec waits longer than that before it kills. */
enum { STOP_LIMIT_S = 10 };

static volatile sig_atomic_t is_asked;

static void stop_ask(int signal_number)
{
    (void)signal_number;
    if (!is_asked)
        alarm(STOP_LIMIT_S);
    is_asked = 1;
}

static void stop_now(int signal_number)
{
    static const char text[] =
        "checkpoint: some rank does not come to the end; giving up\n";

    (void)signal_number;
    partial_remove_all();
    if (is_asked)
        _exit(STOP_CODE);
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        _exit(1); /* nobody to tell */
    _exit(1);
}

void stop_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    action.sa_handler = stop_ask;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = stop_now;
    sigaction(SIGALRM, &action, NULL);
}

bool stop_is_asked(void)
{
    return is_asked != 0;
}

void stop_watch(unsigned seconds)
{
    if (!is_asked)
        alarm(seconds);
}
