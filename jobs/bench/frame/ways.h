/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to do the same, beside each other: is the first, which the library
 * chooses by itself, as good as the best of the others?
 *
 * All of them have a short time in each round, so what else happens on the
 * machine meets them alike. */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include "jobs/bench/frame/pair.h"

enum { WAYS_MAX = 9, WAYS_SAMPLES = 1024, WAYS_WINDOW = 64 };

/* The calls of a rank in its slice of time. */
struct ways_slice {
    double kps; /* thousands of its calls a second */
    /* The times of some of them: the last ones that there is room for. */
    double samples_us[WAYS_SAMPLES];
    unsigned sample_count;
};

static inline void ways_sample(struct ways_slice *slice, double us)
{
    slice->samples_us[slice->sample_count++ % WAYS_SAMPLES] = us;
}

/* The first way is the one chosen. */
struct ways {
    unsigned count;
    const char *ops[WAYS_MAX];
    const char *best_text;   /* the control of the first row */
    const char *chosen_text; /* and that of the others */
    /* By all ranks of the pair: calls with `window` in flight for `us`. */
    void (*slice)(struct pair *pair, void *arg, unsigned way, unsigned window,
        double us, struct ways_slice *ret_slice);
    void *arg;
};

/* Runs all rounds, and adds a row for each way. */
void ways_run(struct pair *pair, const struct ways *ways);

#endif
