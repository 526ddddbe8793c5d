/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel needs to wake two processes, one after the other. */
#ifndef BENCH_EVENT_H
#define BENCH_EVENT_H

#include "jobs/bench/frame/duel.h"

#define EVENT_TEXT                                                             \
    "the same two ranks on the same cores, after the same pause: each writes " \
    "to an eventfd, and the other is in epoll_wait"

/* Each rank sleeps on one, and both can write to either. Owned by whoever
 * opened it. */
struct event_pair {
    int own;   /* this rank sleeps on it */
    int other; /* the other rank does */
    int epoll; /* of its own */
};

/* By both ranks of one machine; ends the job when it cannot. */
void event_open(const struct pair *pair, struct event_pair *ret_events);
void event_close(struct event_pair *events);

/* As a batch of a duel: duel->calls round trips, rank 0 sleeps `idle_us`
 * before each. */
double event_batch(struct pair *pair, const struct duel *duel,
    const struct event_pair *events, unsigned idle_us, double *ret_samples);

#endif
