/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's signal handlers, kept while code that is loaded runs.
 *
 * Libraries of networks install handlers when they are loaded or first asked:
 * that of PSM takes SIGINT, SIGTERM, SIGSEGV and others, and ends the process
 * by exit(1). Linked to a program they do so before main(), and the program's
 * own come after; loaded later, they would replace those. A signal in between
 * finds the library's; one whose handler another thread sets meanwhile loses
 * that, so drivers are loaded by the first HG_Init() alone. */
#include "base/signals.h"

#include <stddef.h>
#include <string.h>

void amg_signals_save(struct amg_signals *signals)
{
    memset(signals, 0, sizeof(*signals));
    for (int i = 1; i < AMG_SIGNALS; i++)
        (void)sigaction(i, NULL, &signals->kept[i]);
}

void amg_signals_restore(const struct amg_signals *signals)
{
    for (int i = 1; i < AMG_SIGNALS; i++) {
        struct sigaction now;

        if (sigaction(i, NULL, &now) == 0 &&
            (now.sa_sigaction != signals->kept[i].sa_sigaction ||
                now.sa_flags != signals->kept[i].sa_flags))
            (void)sigaction(i, &signals->kept[i], NULL);
    }
}
