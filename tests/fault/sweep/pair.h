/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes, and what they tell each other without the library: by plain
 * MPI, or through a pair of sockets that fork() leaves to both. */
#ifndef TESTS_FAULT_SWEEP_PAIR_H
#define TESTS_FAULT_SWEEP_PAIR_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIR_MAX = 4096 };

/* Number of this process, 0 or 1. Ends the process if there is no other. */
unsigned pair_open(bool by_fork);
/* Returns what both ranks return together: `code` of any that is not 0. */
int pair_close(int code);

/* Exchanges `len` bytes, at most PAIR_MAX; both processes call it. */
void pair_swap(const void *mine, void *ret_theirs, size_t len);
/* The other process will hear it; returns at once. */
void pair_say(void);
/* Whether the other process has said it since the last time this was true. */
bool pair_heard(void);
/* Ends both processes. */
_Noreturn void pair_abort(void);

#endif
