/* SPDX-License-Identifier: BSD-3-Clause */
/* Wake-ups by the kernel of two processes, one after the other; and the way by
 * which they get a descriptor in common. */
#ifndef BENCH_WAKEUP_H
#define BENCH_WAKEUP_H

#include "jobs/bench/frame/duel.h"

/* By both ranks of one machine: rank 1 gives `fd`, which stays its own and is
 * returned; rank 0 gets one more of the same, to be closed by it, or -1 where
 * there is no way between the two. */
int hand_over(const struct pair *pair, int fd);

/* A pipe for each rank to read from, and the end by which it wakes the other.
 */
struct pipes {
    int in;
    int out;
};

void pipes_open(const struct pair *pair, struct pipes *ret_pipes);
void pipes_close(struct pipes *pipes);
/* A batch: a byte there and back. duel->arg is a struct pipes. */
double pipes_batch(struct pair *pair, struct duel *duel);

#define EVENT_TEXT                                                             \
    "the same two ranks on the same cores, after the same pause: each writes " \
    "to an eventfd, and the other is in epoll_wait"

/* Each rank sleeps on one, and both can write to either. Its opener
 * owns it. */
struct event_pair {
    int own;   /* this rank sleeps on it */
    int other; /* the other rank does */
    int epoll; /* of its own */
};

/* By both ranks of one machine; ends the job when it cannot. */
void event_open(const struct pair *pair, struct event_pair *ret_events);
void event_close(struct event_pair *events);
/* A batch: a wake-up there and back. duel->arg is a struct event_pair. */
double event_batch(struct pair *pair, struct duel *duel);

#endif
