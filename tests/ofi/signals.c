/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal handlers of a program: HG_Init() over tcp and HG_Finalize() leave
 * them, and those that the program left to the system, unchanged, whatever the
 * loaded libraries install. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "mercury.h"

enum { SIGNALS = 32 };

static void handler_of_mine(int number)
{
    (void)number;
}

static int is_fixed(int number)
{
    return number == SIGKILL || number == SIGSTOP;
}

/* Odd ones have a handler, the others the default action. */
static void (*wanted(int number))(int)
{
    return number % 2 != 0 ? handler_of_mine : SIG_DFL;
}

static int look(const char *when)
{
    int bad = 0;

    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction now;

        if (is_fixed(i) || sigaction(i, NULL, &now) != 0 ||
            now.sa_handler == wanted(i))
            continue;
        fprintf(stderr, "%s: signal %d has another handler\n", when, i);
        bad = 1;
    }
    return bad;
}

int main(void)
{
    hg_class_t *cls = NULL;
    int bad = 0;

    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction mine = {.sa_flags = SA_RESTART};

        mine.sa_handler = wanted(i);
        if (!is_fixed(i) && sigaction(i, &mine, NULL) != 0)
            return EXIT_FAILURE;
    }
    cls = HG_Init("tcp://127.0.0.1", HG_TRUE);
    if (cls == NULL)
        return EXIT_FAILURE;
    bad = look("after HG_Init");
    if (HG_Finalize(cls) != HG_SUCCESS)
        return EXIT_FAILURE;
    return bad | look("after HG_Finalize");
}
