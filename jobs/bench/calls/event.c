/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel needs to wake two processes, one after the other. */
#include "jobs/bench/calls/event.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pause.h"
#include "jobs/bench/calls/hand.h"

enum { WARM = 10 };

void event_open(const struct pair *pair, struct event_pair *ret_events)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    int ends[2] = {-1, -1}; /* ends[i]: what rank i sleeps on */

    /* Both are rank 1's, and so the same for either rank. */
    for (int i = 0; i < 2; i++) {
        int fd = pair->rank == 1 ? eventfd(0, EFD_CLOEXEC) : -1;

        if (pair->rank == 1 && fd < 0)
            pair_fail(pair, "eventfd: %s", strerror(errno));
        ends[i] = hand_over(pair, fd);
    }
    ret_events->own = ends[pair->rank];
    ret_events->other = ends[1 - pair->rank];
    ret_events->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ret_events->epoll < 0 || epoll_ctl(ret_events->epoll, EPOLL_CTL_ADD,
                                     ret_events->own, &wanted) != 0)
        pair_fail(pair, "epoll: %s", strerror(errno));
}

void event_close(struct event_pair *events)
{
    close(events->epoll);
    close(events->own);
    close(events->other);
}

static void event_write(
    const struct pair *pair, const struct event_pair *events)
{
    uint64_t one = 1;

    if (write(events->other, &one, sizeof(one)) != (ssize_t)sizeof(one))
        pair_fail(pair, "writing to an eventfd: %s", strerror(errno));
}

static void event_wait(const struct pair *pair, const struct event_pair *events)
{
    struct epoll_event event;
    uint64_t count = 0;
    int ready = 0;

    do
        ready = epoll_wait(events->epoll, &event, 1, -1);
    while (ready < 0 && errno == EINTR);
    if (ready != 1 ||
        read(events->own, &count, sizeof(count)) != (ssize_t)sizeof(count))
        pair_fail(pair, "waiting for an eventfd: %s", strerror(errno));
}

double event_batch(struct pair *pair, const struct duel *duel,
    const struct event_pair *events, unsigned idle_us, double *ret_samples)
{
    double total_us = 0.0;

    for (unsigned i = 0; i < WARM + duel->calls; i++) {
        double start_us = 0.0;

        if (pair->rank == 1) {
            event_wait(pair, events);
            event_write(pair, events);
            continue;
        }
        pause_us(idle_us);
        start_us = clock_now_us();
        event_write(pair, events);
        event_wait(pair, events);
        if (i >= WARM) {
            ret_samples[i - WARM] = clock_now_us() - start_us;
            total_us += ret_samples[i - WARM];
        }
    }
    return total_us;
}
