/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair of which each rank has an instance of Margo. */
#ifndef BENCH_MARGO_PAIR_H
#define BENCH_MARGO_PAIR_H

#include <stdatomic.h>

#include "jobs/bench/frame/duel.h"
#include "margo.h"

/* Options of an instance; zeros take Margo's defaults. */
struct margo_pair_how {
    const char *json; /* NULL: none */
    uint8_t wait;     /* enum amalgam_wait, of its class */
    unsigned credits; /* unanswered calls that a rank may have */
};

/* Never sleeps. */
#define MARGO_POLLING_JSON                                                     \
    "{\"progress_timeout_ub_msec\": 0, \"progress_spindown_msec\": 0}"

/* Its opener owns it; duel->arg of the batches that use it. */
struct margo_pair {
    const struct pair *like;
    margo_instance_id mid;
    ABT_pool pool; /* of handlers, and of threads that call */
    hg_addr_t peer;
    hg_id_t null_id; /* a call without arguments */
    hg_id_t stop_id; /* the last one of a batch */
    ABT_eventual over;
    atomic_ullong served; /* null calls */
    atomic_bool is_late;  /* no more of them are made */
};

/* Opens one like the pair's class. Ends the job when it cannot; both ranks. */
void margo_pair_open(struct margo_pair *own, const struct pair *like,
    const struct margo_pair_how *how);
void margo_pair_close(struct margo_pair *own);

/* Until the other rank is here, too; meanwhile the instance answers. */
void margo_pair_meet(const struct margo_pair *own);

/* A handle for calls to the other rank. */
hg_handle_t margo_pair_handle(struct margo_pair *own, hg_id_t id);
/* Calls, and waits for the answer. */
void margo_pair_call(struct margo_pair *own, hg_handle_t handle, void *input);

/* Tells the other rank that no more calls come; returns when it knows. */
void margo_pair_stop(struct margo_pair *own);
/* Until the other rank has said so; serves. */
void margo_pair_serve(struct margo_pair *own);
/* Null calls of several threads at once: so many, the times of which go to
 * `samples`; or without a number until `us` are over, and the first thread's
 * times to `slice`. */
struct margo_load {
    struct margo_pair *own;
    unsigned threads;
    unsigned calls; /* 0: until `us` are over; then, as many as were made */
    double us;
    double *samples;
    struct ways_slice *slice;
};

/* Returns how long they took. */
double margo_pair_run(struct margo_load *load);
/* duel->calls null calls, one after the other; rank 1 serves. */
double margo_pair_latency(struct pair *pair, struct duel *duel);
/* The same by duel->window threads at once. */
double margo_pair_rate(struct pair *pair, struct duel *duel);

#endif
