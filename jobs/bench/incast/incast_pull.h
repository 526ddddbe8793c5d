/* SPDX-License-Identifier: BSD-3-Clause */
/* What the target of `incast` does with calls that name bulk data. */
#ifndef BENCH_INCAST_PULL_H
#define BENCH_INCAST_PULL_H

#include "jobs/bench/incast/incast.h"

/* Into so many places at most; further calls wait. */
enum { INCAST_PLACES = 8 };

struct incast_pull;

/* Owned by rank INCAST_TARGET's batch. */
struct incast_pulls {
    struct pair *team;
    hg_bulk_t landing; /* the places, one behind the other */
    size_t len;        /* of each */
    unsigned free_places[INCAST_PLACES];
    unsigned free_count;
    struct incast_pull *first; /* those that wait, oldest first */
    struct incast_pull *last;
};

void incast_pulls_open(
    struct incast_pulls *ret_pulls, struct pair *team, size_t len);
/* All have been answered. */
void incast_pulls_close(struct incast_pulls *pulls);
/* Pulls, now or later, and then answers; the handle is ours. */
void incast_pull_serve(struct incast_pulls *pulls, hg_handle_t handle);

#endif
