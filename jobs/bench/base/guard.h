/* SPDX-License-Identifier: BSD-3-Clause */
/* A deadline for whatever a rank is doing. */
#ifndef BENCH_GUARD_H
#define BENCH_GUARD_H

/* Once, before the first guard_step(). */
void guard_init(int rank, unsigned deadline_s);

/* What else is said when a deadline is over. */
void guard_set_tail(const char *tail);

/* What begins now ends before the deadline, or the process ends with a word
 * that names it, with the exit code of an interruption by SIGALRM, and mpiexec
 * ends the others. The step before is over. */
void guard_step(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The last step is over. */
void guard_rest(void);

#endif
