/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run from outside: by a signal. */
#ifndef BENCH_INTERRUPT_H
#define BENCH_INTERRUPT_H

enum { INTERRUPT_EXIT = 128 }; /* and the number of the signal */

/* From now on SIGINT, SIGTERM and SIGHUP end the process with that exit code.
 * It says so first, and `words`, unless they are NULL. */
void interrupt_init(const char *words);

#endif
