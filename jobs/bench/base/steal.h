/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of this machine its host gave to others: a virtual machine is not
 * idle because nothing else runs in it. */
#ifndef BENCH_STEAL_H
#define BENCH_STEAL_H

#include <stdbool.h>

/* A moment. */
struct steal {
    double at_us;
    double
        stolen_us; /* of all cores together, since the start of the machine */
};

/* What the first line of /proc/stat says of stolen time, in its ticks. False:
 * it says nothing. */
bool steal_parse(const char *line, unsigned long long *ret_ticks);

struct steal steal_now(void);
/* The part of the time of all cores that was taken since; 0 where the kernel
 * does not tell. */
double steal_since(const struct steal *before);

#endif
