/* SPDX-License-Identifier: BSD-3-Clause */
/* What the same two ranks reach with plain MPI calls. */
#ifndef BENCH_CONTROL_H
#define BENCH_CONTROL_H

#include "jobs/bench/frame/duel.h"

/* Blocking sends and receives: duel->size bytes there (8 for size 0), and 8
 * bytes back. */
#define CONTROL_PINGPONG_TEXT                                                  \
    "round trip of MPI_Send and MPI_Recv: the same bytes there (8 for the "    \
    "null call), 8 bytes back"
double control_pingpong(
    struct pair *pair, struct duel *duel, double *ret_samples);

/* Without the clock: `calls` round trips of 8 bytes. */
void control_pingpong_plain(struct pair *pair, unsigned calls);

#endif
