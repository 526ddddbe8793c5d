/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of one row: as many as --runs asks for. */
#ifndef BENCH_REPEAT_H
#define BENCH_REPEAT_H

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/rows.h"

/* One run, by all ranks of the pair; and its figures, by rank 0. */
typedef void (*repeat_measure_fn)(struct pair *pair, void *arg);
typedef void (*repeat_fill_fn)(struct row *row, void *arg);

/* Measures again, until enough runs are quiet, the time of the run is over, or
 * too many were not. At rank 0 `row` becomes the one that counts. By all ranks
 * of the pair. */
void repeat_run(struct pair *pair, repeat_measure_fn measure,
    repeat_fill_fn fill, void *arg, struct row *row);

#endif
