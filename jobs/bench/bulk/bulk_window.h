/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by the one-sided operations of MPI. */
#ifndef BENCH_BULK_WINDOW_H
#define BENCH_BULK_WINDOW_H

#include "jobs/bench/bulk/bulk_data.h"

enum bulk_window_kind {
    BULK_WINDOW_CREATED,   /* over memory there is */
    BULK_WINDOW_DYNAMIC,   /* to which memory there is was attached */
    BULK_WINDOW_ALLOCATED, /* with memory of its own */
    BULK_WINDOW_SHARED,    /* the same, mapped by either rank */
};

/* A window to memory of rank 1. They are dear, tens of milliseconds each. */
struct bulk_window {
    enum bulk_window_kind kind;
    MPI_Win win;
    MPI_Aint base;         /* of the memory, as rank 0 names it */
    unsigned char *memory; /* rank 1 */
};

/* By both ranks. `memory` is what rank 1 has, for windows that need some, and
 * lives until bulk_window_close(). BULK_WINDOW_SHARED needs two ranks that MPI
 * takes for neighbours: bulk_window_can_share(). */
void bulk_window_open(struct pair *pair, enum bulk_window_kind kind,
    unsigned char *memory, size_t len, struct bulk_window *ret_window);
void bulk_window_close(struct pair *pair, struct bulk_window *window);
bool bulk_window_can_share(const struct pair *pair);

#define BULK_FIXED_TEXT                                                        \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a window of MPI_Win_create over memory like the "   \
    "library's; the target in MPI_Barrier"
#define BULK_DYNAMIC_TEXT                                                      \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a dynamic window to which the same memory is "      \
    "attached; the target in MPI_Barrier"
/* In bulk->window; bulk->end is the memory of that. */
double bulk_window(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
