/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks beyond two, and the silent peers of a rank.
 *
 * Ranks beyond two sleep until they are told to take part in a benchmark, or to
 * be silent peers: to call rank 1 once. Transports that need no MPI have other
 * silent peers: classes that rank 0 opens beside its own. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "jobs/bench/frame/pair.h"

enum peers_command {
    PEERS_END,   /* leave */
    PEERS_CROWD, /* be silent peers */
    PEERS_GO,    /* as such: call; then close */
    PEERS_TEAM,  /* take part in a benchmark: PEERS_TEAM and its number */
};

/* The whole run of a rank beyond two; `team_run` takes part in the benchmark of
 * that number. */
void peers_run(
    struct pair *pair, void (*team_run)(struct pair *pair, unsigned number));
/* By both of the two ranks, when there are others. */
void peers_tell(struct pair *pair, int command);

/* A rank with many silent peers, and the same rank with one: two classes of
 * each of the two ranks, with a context each. Its opener owns it. */
struct crowd {
    struct pair busy;  /* `count` peers contact it */
    struct pair quiet; /* one does */
    unsigned count;
    const char *info;   /* opens the peers; NULL: they are ranks */
    struct pair *peers; /* classes of rank 0, the last one of `quiet` */
};

/* By both ranks. False, with a line why, when the transport has no peers to
 * offer: there are no further ranks, or it leads to oneself only. */
bool crowd_open(struct crowd *ret_crowd, struct pair *pair);
/* By both: the peers make contact; ends the job when they cannot. */
void crowd_gather(struct crowd *crowd);
/* By both: the peers leave, and the classes are closed. */
void crowd_close(struct crowd *crowd);

#endif
