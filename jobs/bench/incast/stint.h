/* SPDX-License-Identifier: BSD-3-Clause */
/* The time in which an origin calls as fast as it can, and what it got done.
 *
 * It calls a little longer than what counts, before and after: so all others
 * call, too, during what counts of each, although they do not start at the same
 * moment where ranks share cores. */
#ifndef BENCH_STINT_H
#define BENCH_STINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jobs/bench/frame/duel.h"

enum {
    STINT_SAMPLES = 256,    /* of each origin, for the quantiles of a batch */
    STINT_TIMED_EVERY = 16, /* a look at the clock takes a tenth of a call */
};

/* An origin's, during a batch. */
struct stint {
    double now_us; /* as of the last look */
    double from_us;
    double until_us; /* what ends between these two counts */
    double end_us;
    uint64_t posted;
    uint64_t ended;
    uint64_t counted;
    bool is_slow;                      /* each call is timed */
    double samples[2 * STINT_SAMPLES]; /* of what counted; evenly chosen */
    unsigned kept;
    unsigned step;  /* of so many timed calls one is kept */
    unsigned timed; /* since the last one that was */
};

/* Begins now; `counts_ms` count of it. */
void stint_start(struct stint *ret_stint, unsigned counts_ms, size_t size);
/* Looks at the clock; once in a turn. False when no further calls are due: the
 * time is over, and at least one call has counted. */
bool stint_goes_on(struct stint *stint);
/* A call goes out; returns when, or 0 if this one is not timed. */
double stint_post(struct stint *stint);
/* It has ended. */
void stint_call_ended(struct stint *stint, double posted_us);

/* What the origins of a batch got done: at rank 0. */
struct stint_sum {
    double kps;      /* thousands of calls a second, of all together */
    double fairness; /* Jain's index: 1 when all got the same done, 1 / origins
                      * when one got everything */
    double slowest;  /* what the slowest origin got done / the fastest */
};

/* Collective over all ranks of the pair; all but rank `target`, which has NULL
 * for a stint, are origins. At rank 0 the times of `count` calls are written,
 * as many of each origin. */
void stint_gather(const struct pair *pair, int target,
    const struct stint *stint, double *ret_samples, unsigned count,
    struct stint_sum *ret_sum);

#endif
