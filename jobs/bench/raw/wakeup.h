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

#define EVENT_TEXT                                                             \
    "the same two ranks on the same cores, after the same pause: each writes " \
    "to an eventfd, and the other is in epoll_wait"

/* Descriptors to sleep on and to wake the other rank. The opener owns it. */
struct wakeup {
    int in;
    int out;
    int epoll; /* of `in` */
};

/* By both ranks of one machine; ends the job when it cannot. */
void wakeup_open(const struct pair *pair, struct wakeup *ret_wakeup);
void wakeup_close(struct wakeup *wakeup);
/* A batch: a wake-up there and back. duel->arg is a struct wakeup. */
double wakeup_batch(struct pair *pair, struct duel *duel);

#endif
