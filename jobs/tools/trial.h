/* SPDX-License-Identifier: BSD-3-Clause */
/* Trial of an init string in a child process, which may crash or hang. */
#ifndef JOBS_TOOLS_TRIAL_H
#define JOBS_TOOLS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

/* First argument of the program in the child, before the string. */
#define TRIAL_WORD "--try"

/* True: it can be opened, and `ret_words` is the address; false: it is the
 * reason. Takes at most 30 seconds. */
bool trial_run(const char *name, char *ret_words, size_t cap);

#endif
