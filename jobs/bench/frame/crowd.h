/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank with many silent peers, and the same rank with one.
 *
 * Over MPI the peers are the ranks beyond two. Over other transports they are
 * small processes that rank 1 starts. Either way they have called once, and
 * sleep.
 */
#ifndef BENCH_CROWD_H
#define BENCH_CROWD_H

#include "jobs/bench/frame/helper.h"
#include "jobs/bench/frame/pair.h"

/* Two classes of each of the two ranks, with a context each. Its opener
 * owns it. */
struct crowd {
    struct pair busy;  /* `count` peers contact it */
    struct pair quiet; /* one does */
    unsigned count;
    bool is_of_ranks; /* or of processes that rank 1 starts */
    struct helpers many;
    struct helpers single;
};

/* The string that opens the transport between the two in processes without MPI;
 * NULL: there is none, or the peers are further ranks. */
const char *crowd_info(const struct pair *pair);
/* By both ranks. False, with a line why, when the transport has no peers to
 * offer: there are no further ranks, or it leads to oneself only. */
bool crowd_open(struct crowd *ret_crowd, struct pair *pair);
/* By both: the peers make contact; ends the job when they cannot. */
void crowd_gather(struct crowd *crowd);
/* By both: the peers leave, and the classes are closed. */
void crowd_close(struct crowd *crowd);

#endif
