/* SPDX-License-Identifier: BSD-3-Clause */
/* Monotonic time in nanoseconds. */
#include "base/clock.h"

#include <time.h>

#define NS_PER_S 1000000000ull

uint64_t amg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t amg_clock_deadline_ns(unsigned timeout_ms)
{
    return amg_clock_ns() + (uint64_t)timeout_ms * AMG_NS_PER_MS;
}

void amg_clock_sleep_ns(uint64_t ns)
{
    struct timespec nap;

    nap.tv_sec = (time_t)(ns / NS_PER_S);
    nap.tv_nsec = (long)(ns % NS_PER_S);
    nanosleep(&nap, NULL);
}
