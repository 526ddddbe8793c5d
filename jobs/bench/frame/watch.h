/* SPDX-License-Identifier: BSD-3-Clause */
/* The watch over a run: the deadline of each step, the end by a signal, and the
 * time limit of the whole. */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

#include <mpi.h>
#include <stdbool.h>

/* The exit code of a run that a signal ended, less the signal's number. */
enum { WATCH_EXIT = 128 };

/* Called once at each rank, before the first guard_step(). From now on SIGINT,
 * SIGTERM and SIGHUP end the process with WATCH_EXIT plus their number.
 * `time_s` is for the whole run; 0: no limit. */
void watch_init(int rank, unsigned deadline_s, unsigned time_s);

/* Begins a step, and ends the one before; guard_rest() ends the last step. At
 * the deadline of a step the process prints the name of the step and ends, as
 * by SIGALRM, and mpiexec ends the other ranks. */
void guard_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
void guard_rest(void);

/* Is the time of the run over, by the clock of rank 0 of `comm`? Collective
 * over `comm`. */
bool limit_is_over(MPI_Comm comm);
/* Was anything left out because of the time limit? */
bool limit_was_reached(void);

#endif
