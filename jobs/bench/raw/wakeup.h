/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes that wake each other in turn, through the kernel; and a way to
 * pass a descriptor between the processes. */
#ifndef BENCH_WAKEUP_H
#define BENCH_WAKEUP_H

#include "jobs/bench/frame/duel.h"

/* By both ranks of one machine: passes rank 1's `fd` to rank 0. Rank 1 gets
 * `fd` as the result; rank 0 gets a duplicate, which the caller closes, or -1
 * if descriptors cannot be passed. */
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

/* By both ranks of one machine; ends the job on an error. */
void wakeup_open(const struct pair *pair, struct wakeup *ret_wakeup);
void wakeup_close(struct wakeup *wakeup);
/* A batch of wake-ups, there and back. duel->arg is a struct wakeup. */
double wakeup_batch(struct pair *pair, struct duel *duel);

#endif
