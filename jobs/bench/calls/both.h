/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ranks call each other, as much as they can, for some time. */
#ifndef BENCH_BOTH_H
#define BENCH_BOTH_H

#include "jobs/bench/calls/served.h"

enum { BOTH_SAMPLES = 64 };

/* What one rank did. */
struct both {
    double kps; /* thousands of its calls a second */
    /* How long some of them took. */
    double samples_us[BOTH_SAMPLES];
    unsigned sample_count;
};

/* By both ranks, with a context open: `window` null calls in flight for
 * `time_us`, and until those have ended. `by_thread`: the program waits for its
 * answers only, and leaves progress to the library's thread. */
void both_run(struct served *served, unsigned window, double time_us,
    bool by_thread, struct both *ret_both);

#endif
