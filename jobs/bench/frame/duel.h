/* SPDX-License-Identifier: BSD-3-Clause */
/* A row: a measurement and its control in turn, batch after batch.
 *
 * Other load of the machine comes and goes within seconds, and meets two
 * neighbouring batches alike. So each batch has a ratio of its own, and the
 * median of these is the result: it stays where it is when a few batches were
 * disturbed. One batch of each goes before, to warm up. */
#ifndef BENCH_DUEL_H
#define BENCH_DUEL_H

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/pair.h"

struct duel;

/* One batch, run by all ranks of the pair at the same time. Rank 0 writes the
 * time of each of duel->calls operations to duel->samples, and returns that of
 * all. In us. */
typedef double (*duel_batch_fn)(struct pair *pair, struct duel *duel);

enum {
    DUEL_WARM = 50, /* small operations before the clock of a batch starts */
    DUEL_MORE_MAX = 3,
};

/* The figure of a batch, which is compared. */
enum duel_figure {
    DUEL_US,      /* the median time of its operations */
    DUEL_MEAN_US, /* their mean time */
    DUEL_GBPS,    /* gigabytes a second */
    DUEL_KPS,     /* thousands of operations a second */
};

/* The measurement, or the control. */
struct duel_side {
    duel_batch_fn run;
    void *arg;         /* duel->arg, while this side runs */
    struct pair *pair; /* by which it runs; NULL: the pair of the duel */
    bool enters;       /* has a context of that pair open, for each batch */
};

/* If the control is MPI, the library has a context only during its own
 * batches (`ours.enters`): the receives that a context keeps posted make MPI
 * look through more of them for each message. With 32 of them 8 bytes took 1.45
 * times as long (MPICH 4.0.2), and such a control would flatter us. */
struct duel {
    const char *op;
    const char *against;
    const char *text;   /* what the control is */
    const char *memory; /* NULL: "host" */
    size_t size;        /* bytes of payload */
    unsigned window;    /* 0: 1, without `ranks` */
    unsigned calls;     /* of each in a batch, unless the user wants others */
    unsigned warm;      /* operations before the clock of a batch starts */
    unsigned rest_us;   /* before each operation, where it counts by itself */
    unsigned ranks;     /* that share the calls, as many each, which the bench
                         * has set as the user wants; 0: rank 0 makes them */
    unsigned each;      /* what a call counts in DUEL_KPS; 0: 1 */
    unsigned batches;   /* 0: as the user wants, or OPTIONS_BATCHES */
    unsigned threads;   /* of each rank; 0: one */
    unsigned peers;     /* for the row, as the next */
    enum duel_figure figure;
    bool is_open; /* a context of the pair is open all the time */
    struct duel_side ours;
    struct duel_side control;
    /* Further rows, of figures that batches write to more[]: op, unit and what
     * is better; the rest, where it is NULL, is as in the row of the duel. */
    const struct row *more_rows;
    unsigned more_count;
    /* During a batch. */
    void *arg;
    double *samples;
    double
        ended_us; /* when rank 0's last operation ended; by batches of rate */
    double more[DUEL_MORE_MAX];
};

/* Runs all batches, as often as --runs says; rank 0 reports the row. By all
 * ranks of the pair. False at all of them, with nothing done, when the time
 * limit of the run is over; else `ret_ratio` (may be NULL) is the ratio, at
 * rank 0. */
bool duel_run(struct pair *pair, struct duel *duel, double *ret_ratio);

/* Operations that warm a batch up. */
static inline unsigned duel_warm(const struct duel *duel)
{
    return duel->warm < duel->calls ? duel->warm : duel->calls;
}

/* A batch of `once`, one after the other: first to warm up, then timed, each.
 * With duel->rest_us the calling thread sleeps so long before each. */
double duel_each(struct pair *pair, struct duel *duel,
    void (*once)(struct pair *pair, void *arg), void *arg);

/* Measures again, by all ranks of the pair, until enough runs are quiet, the
 * time of the run is over, or too many were not; rank 0 fills `count` rows
 * after each run, and gets those that count. */
void duel_repeat(struct pair *pair,
    void (*measure)(struct pair *pair, void *arg),
    void (*fill)(struct row *rows, void *arg), void *arg, struct row *rows,
    unsigned count);

#endif
