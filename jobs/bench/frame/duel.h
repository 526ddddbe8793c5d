/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement and its control, in turn, batch after batch. */
#ifndef BENCH_DUEL_H
#define BENCH_DUEL_H

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/rows.h"

struct duel;

/* One batch, run by both ranks at the same time. Rank 0 writes the time that
 * each of duel->calls operations took, and returns that of all. In us. */
typedef double (*duel_batch_fn)(
    struct pair *pair, struct duel *duel, double *ret_samples);

enum {
    DUEL_BATCHES_MIN = 15,
    DUEL_BATCHES = 21,
    DUEL_WARM = 50, /* small operations before the clock of a batch starts */
};

/* What is compared: the figure of a batch. */
enum duel_figure {
    DUEL_US,      /* the median time of its operations */
    DUEL_MEAN_US, /* their mean time */
    DUEL_GBPS,    /* gigabytes a second */
    DUEL_KPS,     /* thousands of operations a second */
};

/* Who has a context open, and when. */
enum duel_context {
    DUEL_CONTEXT_OURS, /* the measurement, and not the control: that is MPI */
    DUEL_CONTEXT_BOTH, /* both: the control is no MPI, or calls as well */
    DUEL_CONTEXT_OWN,  /* the batches see to it */
};

struct duel {
    duel_batch_fn ours;
    duel_batch_fn control;
    size_t size; /* bytes of payload */
    unsigned window;
    unsigned calls;   /* of each, in a batch */
    unsigned ranks;   /* that share these, as many each; 0: rank 0 makes them */
    unsigned each;    /* what a call counts in DUEL_KPS; 0: 1 */
    unsigned batches; /* 0: DUEL_BATCHES */
    enum duel_figure figure;
    enum duel_context context;
    void *more; /* what the batches of a benchmark need */
    double
        ended_us; /* when rank 0's last operation ended; by batches of rate */
};

/* Runs all batches, as often as --runs says; at rank 0 the figures of `row` are
 * filled in, and it is added to the results. By all ranks of the pair. False
 * at all of them, with nothing done, when the time limit of the run is over. */
bool duel_run(struct pair *pair, struct duel *duel, struct row *row);

#endif
