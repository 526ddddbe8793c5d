/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries an init string in a process of its own, which may crash or hang. */
#ifndef JOBS_TOOLS_TRIAL_H
#define JOBS_TOOLS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

/* The first argument of the program in that process, before the string. */
#define TRIAL_WORD "--try"

/* True: it can be opened, and the words are the address; else the reason. Takes
 * at most some tens of seconds. */
bool trial_run(const char *name, char *ret_words, size_t cap);

#endif
