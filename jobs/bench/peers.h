/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks beyond two: silent peers, asleep until they are told. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "pair.h"

enum peers_command {
    PEERS_END,  /* leave */
    PEERS_OPEN, /* open two classes over all ranks, as the two do */
    PEERS_CALL, /* call rank 1 in the first class; one of them, in both */
    PEERS_PART, /* close the two classes */
};

/* What a rank beyond two does in all its time; returns its exit code. */
int peers_run(struct pair *pair);

/* By both of the two ranks, when there are others. */
void peers_tell(struct pair *pair, enum peers_command command);

/* How many there are. */
unsigned peers_count(const struct pair *pair);

#endif
