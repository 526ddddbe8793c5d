/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads of each rank, each with a context and a communicator of its
 * own. */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <pthread.h>

#include "jobs/bench/base/pin.h"
#include "jobs/bench/frame/duel.h"

/* One thread; its neighbour in the other rank has the same number. */
struct crew_member {
    struct pair pair; /* its context, while there is one, and communicator */
    struct duel duel; /* its part of a batch */
    duel_batch_fn batch;
    double *samples; /* of its part; rank 0 */
    double elapsed_us;
    int core; /* -1: wherever it may */
    pthread_t thread;
    pthread_barrier_t *start;
};

/* Owned by whoever opened it. */
struct crew {
    struct pair pair; /* its class has as many contexts */
    unsigned count;
    unsigned at_work; /* so many of them run batches */
    struct crew_member *members;
    int cores[OPTIONS_THREADS_MAX]; /* that this rank has for itself */
    unsigned core_count;            /* the same in both ranks */
    struct pin pin;                 /* where this thread was */
};

/* By both ranks: finds the cores. This thread may run on all of them until
 * crew_close(). */
void crew_init(struct crew *crew, const struct pair *like);
/* By both ranks, then: a class like that of crew_init(), and `count` members.
 * Ends the job when it cannot. */
void crew_open(struct crew *crew, unsigned count);
void crew_close(struct crew *crew);

/* How many members run batches from now on. Where each has a core, it is pinned
 * there; else who has nothing to do gives its core away. */
void crew_set(struct crew *crew, unsigned at_work);

/* By both ranks: a context for each member, or the end of that. */
void crew_enter(struct crew *crew);
void crew_leave(struct crew *crew);

/* As a batch of a duel, by the members at work of both ranks at once, of whom
 * each does its part of duel->calls. The time is that from the start of the
 * first to the end of the last; `batch` writes duel->ended_us. */
double crew_batch(struct crew *crew, const struct duel *duel,
    duel_batch_fn batch, double *ret_samples);

#endif
