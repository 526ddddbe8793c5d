/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by the one-sided operations of MPI. */
#ifndef BENCH_BULK_WINDOW_H
#define BENCH_BULK_WINDOW_H

#include "bulk_data.h"

/* The windows of a run: they are dear, tens of milliseconds each. */
struct bulk_windows {
    MPI_Win fixed;   /* over rank 1's memory that is like the library's */
    MPI_Win dynamic; /* with rank 1's landing attached */
    MPI_Aint base;   /* of the landing, as rank 0 names it */
};

/* By both ranks; the landing and `like` live until bulk_windows_close(). */
void bulk_windows_open(struct pair *pair, const struct like *like,
    struct bulk_windows *ret_windows);
void bulk_windows_close(struct pair *pair, struct bulk_windows *windows);

#define BULK_FIXED_TEXT                                                        \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a window of MPI_Win_create over memory like the "   \
    "library's; the target in MPI_Barrier"
#define BULK_DYNAMIC_TEXT                                                      \
    "MPI_Rget (pull), or MPI_Put and MPI_Win_flush (push), of the same size, " \
    "as many in flight, in a dynamic window to which the same memory is "      \
    "attached; the target in MPI_Barrier"
/* In the window for the memory of the bulk, one of bulk->windows. */
double bulk_window(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
