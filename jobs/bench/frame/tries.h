/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of one row, of which the one in the middle counts. */
#ifndef BENCH_TRIES_H
#define BENCH_TRIES_H

#include <stdbool.h>

#include "jobs/bench/frame/rows.h"

/* Owned by whoever initialised it. */
struct tries {
    struct row *rows; /* as they were filled */
    unsigned wanted;
    unsigned max;
    unsigned count;
    unsigned good; /* of these, those that are not noisy */
};

/* `runs` as the user asked for them; with 0 there is one, noisy or not. Else a
 * noisy one is tried again, as long as there are no more than 2 * runs of them.
 * False: no memory. */
bool tries_init(struct tries *tries, unsigned runs);
void tries_add(struct tries *tries, const struct row *row);
/* No more are needed, or allowed. */
bool tries_are_enough(const struct tries *tries);
/* The run with the median ratio of those that are not noisy; of all, where
 * there is no such one. It is noisy when fewer than were wanted are not. */
void tries_choose(struct tries *tries, struct row *ret_row);
void tries_fini(struct tries *tries);

#endif
