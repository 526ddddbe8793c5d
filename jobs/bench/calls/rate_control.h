/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies by bare non-blocking MPI calls. */
#ifndef BENCH_RATE_CONTROL_H
#define BENCH_RATE_CONTROL_H

#include "jobs/bench/frame/duel.h"

#define RATE_CONTROL_TEXT                                                      \
    "24 B requests and 24 B replies, as many in flight: MPI_Isend and "        \
    "MPI_Irecv for each, the target's from MPI_ANY_SOURCE, MPI_Testsome on "   \
    "both sides"

/* A look at the clock takes a tenth of a call: both look at it for one call of
 * so many, and take its time for that of those that end until the next. */
enum { RATE_TIMED_EVERY = 16 };

static inline bool rate_is_timed(unsigned number)
{
    return number % RATE_TIMED_EVERY == 0;
}

double rate_control(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
