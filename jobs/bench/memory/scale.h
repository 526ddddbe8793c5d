/* SPDX-License-Identifier: BSD-3-Clause */
/* A class of so many ranks, from its start to its end: the batches of `scale`.
 */
#ifndef BENCH_SCALE_H
#define BENCH_SCALE_H

#include "jobs/bench/base/smaps.h"
#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/tally.h"

enum { SCALE_PEERS_MAX = 64 }; /* whom a rank calls, at most */

/* What a round consists of. */
enum scale_step { SCALE_INIT, SCALE_CONTACT, SCALE_FINAL, SCALE_STEPS };

/* Of a row: duel->more. All ranks of the pair have the same. */
struct scale {
    const char *transport; /* NULL: the library chooses */
    struct tally ours[SCALE_STEPS];
    struct tally control[SCALE_STEPS];
    bool is_measured; /* before and after are there */
    struct smaps before;
    struct smaps after;
};

/* How many others a rank calls. */
static inline unsigned scale_peers(const struct duel *duel)
{
    unsigned others = duel->ranks - 1;

    return others < SCALE_PEERS_MAX ? others : SCALE_PEERS_MAX;
}

/* Whom it calls, and who calls it, as the `i`th of these. */
static inline int scale_callee(
    const struct pair *pair, const struct duel *duel, unsigned i)
{
    return (int)(((unsigned)pair->rank + i + 1) % duel->ranks);
}

static inline int scale_caller(
    const struct pair *pair, const struct duel *duel, unsigned i)
{
    return (int)(((unsigned)pair->rank + duel->ranks - i - 1) % duel->ranks);
}

/* By all ranks of the pair; see duel_batch_fn. The time of an operation is what
 * one rank took to open its class. */
double scale_round(struct pair *pair, struct duel *duel, double *ret_samples);
double scale_control(struct pair *pair, struct duel *duel, double *ret_samples);

/* The end of a batch, by all ranks: the times of this one for each step. */
double scale_end(struct pair *pair, const struct duel *duel,
    const double *times_us, struct tally *tallies, double *ret_samples);

#endif
