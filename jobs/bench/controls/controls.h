/* SPDX-License-Identifier: BSD-3-Clause */
/* What this machine gives to programs without the library: groups of rows, all
 * run by bench_controls().
 *
 * What is measured here is the control of other benchmarks. Each stands beside
 * one that every machine has, by the same two ranks in turn: a time beside the
 * MPI round trip of that size, a bandwidth beside memcpy. No class is open. */
#ifndef BENCH_CONTROLS_H
#define BENCH_CONTROLS_H

#include "jobs/bench/bulk/bulk_data.h"

/* Owned by bench_controls(). */
struct controls {
    struct pair pair;  /* the two ranks, without a class */
    struct pair alone; /* rank 0, which copies from its memory to its memory */
    struct bulk copy;  /* what it copies */
    struct like own;   /* to where */
    struct like like;  /* memory of rank 1 that both have mapped */
    struct bulk bulk;  /* what a row moves, if its batch moves a bulk */
};

/* What stands beside a row, and so its unit. */
enum controls_beside {
    CONTROLS_TRIP,    /* its time: the MPI round trip of that size */
    CONTROLS_TRIPS,   /* its rate: how many of these a second */
    CONTROLS_REQUEST, /* its rate: that of MPI, as many in flight */
    CONTROLS_COPY,    /* its bandwidth: memcpy of that size */
};

struct controls_row {
    const char *op;
    duel_batch_fn batch;
    void *more; /* duel->more of the batch */
    enum controls_beside beside;
    size_t size;
    unsigned window;
};

/* Leaves out what does not fit into the room of the pair. */
void controls_row_run(
    struct controls *controls, const struct controls_row *row);

/* A size or a window of rows, and how much must be asked for to get it. */
struct controls_step {
    size_t number;
    enum {
        CONTROLS_SMOKE,
        CONTROLS_QUICK,
        CONTROLS_FULL,
    } level;
};

/* Those of most groups: for times, and for bandwidths. */
extern const struct controls_step controls_short[];
extern const struct controls_step controls_long[];

/* The row for each of `sizes` and each of `windows`, which zeros end, or for
 * those alone that --size and -w name. NULL: as the row has it. */
void controls_rows_run(struct controls *controls,
    const struct controls_row *row, const struct controls_step *sizes,
    const struct controls_step *windows);

/* As a batch, with duel->more these controls: memcpy within rank 0. */
double controls_copy(struct pair *pair, struct duel *duel, double *ret_samples);

/* The groups. */
void controls_message_run(struct controls *controls);
void controls_window_run(struct controls *controls);
void controls_near_run(struct controls *controls);
void controls_fabric_run(struct controls *controls);

#endif
