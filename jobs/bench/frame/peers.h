/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks beyond two: asleep until they are told to be silent peers, or to
 * take part in a benchmark. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "jobs/bench/frame/pair.h"

enum peers_command {
    PEERS_END,  /* leave */
    PEERS_OPEN, /* open two classes over all ranks, as the two do */
    PEERS_CALL, /* call rank 1 in the first class; rank 2 in both */
    PEERS_PART, /* close the two classes */
    PEERS_TEAM, /* take part in a benchmark: PEERS_TEAM and its number */
};

/* The whole run of a rank beyond two; `team_run` takes part in the benchmark of
 * that number. */
void peers_run(
    struct pair *pair, void (*team_run)(struct pair *pair, unsigned number));
/* By both of the two ranks, when there are others. */
void peers_tell(struct pair *pair, int command);

#endif
