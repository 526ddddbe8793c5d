/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that has nothing to do. */
#include "jobs/bench/base/pause.h"

#include <errno.h>
#include <time.h>

enum { US_PER_S = 1000000, NS_PER_US = 1000 };

void pause_us(unsigned us)
{
    struct timespec left = {
        .tv_sec = us / US_PER_S,
        .tv_nsec = (long)(us % US_PER_S) * NS_PER_US,
    };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
