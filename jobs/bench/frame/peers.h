/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks beyond two: asleep until they are told to be silent peers, or to
 * take part. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "jobs/bench/frame/pair.h"

enum peers_command {
    PEERS_END,  /* leave */
    PEERS_OPEN, /* open two classes over all ranks, as the two do */
    PEERS_CALL, /* call rank 1 in the first class; one of them, in both */
    PEERS_PART, /* close the two classes */
    PEERS_TEAM, /* take part in a benchmark: PEERS_TEAM and its number */
};

/* Takes part in the benchmark of that number. */
typedef void (*peers_team_fn)(struct pair *pair, unsigned number);

/* What a rank beyond two does in all its time; returns its exit code. */
int peers_run(struct pair *pair, peers_team_fn team_run);

/* By both of the two ranks, when there are others. */
void peers_tell(struct pair *pair, enum peers_command command);
/* That they take part, as the two do then. */
void peers_tell_team(struct pair *pair, unsigned number);

/* How many there are. */
unsigned peers_count(const struct pair *pair);

#endif
