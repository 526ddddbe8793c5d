/* SPDX-License-Identifier: BSD-3-Clause */
/* Time in microseconds, and a sleep. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <errno.h>
#include <time.h>

static inline double clock_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* The time since `*before_us`, which becomes now. */
static inline double clock_lap_us(double *before_us)
{
    double now_us = clock_now_us();
    double lap_us = now_us - *before_us;

    *before_us = now_us;
    return lap_us;
}

/* The calling thread sleeps for `us`. */
static inline void pause_us(unsigned us)
{
    struct timespec left = {us / 1000000, (long)(us % 1000000) * 1000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

#endif
