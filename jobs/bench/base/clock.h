/* SPDX-License-Identifier: BSD-3-Clause */
/* What time it is, in microseconds since some moment. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <time.h>

static inline double clock_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* How long ago `*before_us` was; now is the next one's. */
static inline double clock_lap_us(double *before_us)
{
    double now_us = clock_now_us();
    double lap_us = now_us - *before_us;

    *before_us = now_us;
    return lap_us;
}

#endif
