/* SPDX-License-Identifier: BSD-3-Clause */
/* What the batches of a duel tell beside its own figure. */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include "jobs/bench/frame/pair.h"
#include "jobs/bench/frame/rows.h"

/* One number of each batch; zeros at first. */
struct tally {
    double *figures;
    unsigned count;
    unsigned cap;
};

void tally_add(struct tally *tally, const struct pair *pair, double figure);
void tally_fini(struct tally *tally);

/* Adds a row of ours beside the control, which have a number of each batch; the
 * first of each run has warmed up, and the runs are judged as those of the duel
 * are. `like` is the row of the duel: what it has in common with it is taken
 * from there. The order of the numbers is lost. */
void tally_row(const struct pair *pair, struct tally *ours,
    struct tally *control, const struct row *like, const struct row *other);

#endif
