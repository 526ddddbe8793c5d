/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over a run: the deadline of each step, the end by a signal, and the
 * time limit of the whole. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include <mpi.h>
#include <stdbool.h>

/* The exit code of a run that a signal ended, less the signal's number. */
enum { WATCH_EXIT = 128 };

/* Once, at each rank, before the first guard_step(). SIGINT, SIGTERM and SIGHUP
 * end the process with WATCH_EXIT and their number from now on. `time_s` is for
 * the whole run; 0: no limit. */
void watch_init(int rank, unsigned deadline_s, unsigned time_s);

/* The step that begins now ends before the deadline, or the process ends with a
 * line that names it, as by SIGALRM, and mpiexec ends the others. The step
 * before is over; or with guard_rest() the last one is. */
void guard_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
void guard_rest(void);

/* Is the time of the run over? By the clock of rank 0 of `comm`, all ranks of
 * which ask at the same time. */
bool limit_is_over(MPI_Comm comm);
/* Was anything left out because of it? */
bool limit_was_reached(void);

#endif
