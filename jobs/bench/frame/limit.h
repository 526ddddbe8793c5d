/* SPDX-License-Identifier: BSD-3-Clause */
/* The time that a whole run may take. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <mpi.h>
#include <stdbool.h>

/* Once, at each rank; 0: no limit. */
void limit_init(unsigned time_s);
/* Is it over? By the clock of rank 0 of `comm`, all ranks of which ask at the
 * same time. */
bool limit_is_over(MPI_Comm comm);
/* Was anything left out because of it? */
bool limit_was_reached(void);

#endif
