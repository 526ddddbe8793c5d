/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by messages of MPI. */
#ifndef BENCH_BULK_STREAM_H
#define BENCH_BULK_STREAM_H

#include "jobs/bench/bulk/bulk_data.h"

/* Messages of duel->size bytes, duel->window at a time; blocking calls when
 * that is 1. duel->more is a struct bulk, as in all that follow. */
#define BULK_STREAM_TEXT                                                       \
    "stream of messages of the same size, as many in flight: MPI_Send to "     \
    "MPI_Recv, and MPI_Isend to MPI_Irecv for windows beyond 1"
double bulk_stream(struct pair *pair, struct duel *duel, double *ret_samples);

#define BULK_ROUND_TEXT                                                        \
    "round trip of MPI_Send and MPI_Recv: that size there, and the same back"
double bulk_round(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
