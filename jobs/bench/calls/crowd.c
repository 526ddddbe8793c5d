/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank with many silent peers, and the same rank with one. */
#include "jobs/bench/calls/crowd.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/fabric/fabric.h"
#include "jobs/bench/frame/peers.h"

enum { TEXT_LEN = 512 };

const char *crowd_info(const struct pair *pair)
{
    if (pair->is_collective && pair->world->size >= 4)
        return NULL;
    if (strcmp(pair->via, "sm") == 0 || strcmp(pair->via, "shm") == 0 ||
        strcmp(pair->via, "na+sm") == 0)
        return "na+sm";
    if (fabric_is_way(pair))
        return pair->transport;
    return NULL;
}

/* Why there can be no crowd, or NULL. */
static const char *obstacle(const struct pair *pair)
{
    if (crowd_info(pair) != NULL)
        return NULL;
    if (strcmp(pair->via, "self") == 0)
        return "nobody else can call over self";
    if (pair->world->size < 4)
        return "over MPI the peers are ranks, and there are none: start it "
               "with -n 4 or more";
    return NULL;
}

bool crowd_open(struct crowd *ret_crowd, struct pair *pair)
{
    const char *info = crowd_info(pair);
    const char *why = obstacle(pair);
    MPI_Comm comm = info == NULL ? pair->world->comm : pair->comm;
    struct crowd crowd = {.is_of_ranks = info == NULL};

    if (why != NULL) {
        if (pair->rank == 0)
            fprintf(stderr, "amalgam_bench: no silent peers: %s\n", why);
        return false;
    }
    crowd.count = crowd.is_of_ranks ? peers_count(pair) : pair->options->peers;
    *ret_crowd = crowd;
    pair_copy(pair, &ret_crowd->busy);
    pair_copy(pair, &ret_crowd->quiet);
    if (info == NULL) {
        info = pair->options->transport;
        peers_tell(pair, PEERS_OPEN);
    }
    if (!pair_open(&ret_crowd->busy, comm, info) ||
        !pair_open(&ret_crowd->quiet, comm, info))
        pair_fail(pair, "no two classes over one transport");
    /* As it was asked for, not as it is opened here. */
    ret_crowd->busy.transport = pair->transport;
    pair_enter(&ret_crowd->busy);
    pair_enter(&ret_crowd->quiet);
    return true;
}

static void helpers_call(
    struct pair *pair, struct helpers *helpers, unsigned count)
{
    char text[TEXT_LEN];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    bool has_failed = false;

    pair_check(pair, HG_Addr_self(pair->cls, &self), "HG_Addr_self");
    pair_check(pair, HG_Addr_to_string(pair->cls, text, &len, self),
        "HG_Addr_to_string");
    HG_Addr_free(pair->cls, self);
    if (!helpers_start(
            helpers, count, crowd_info(pair), text, pair->options->deadline_s))
        pair_fail(pair, "no silent peers");
    while (!helpers_are_ready(helpers, &has_failed) && !has_failed) {
        pair_turn(pair);
        sched_yield();
    }
    if (has_failed)
        pair_fail(pair, "a silent peer ended too early");
}

/* Rank 1, while others call. */
static void ranks_serve(struct crowd *crowd)
{
    while (crowd->busy.served < crowd->count || crowd->quiet.served < 1) {
        pair_turn(&crowd->busy);
        pair_turn(&crowd->quiet);
        sched_yield();
    }
}

void crowd_gather(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;

    if (crowd->is_of_ranks)
        peers_tell(busy, PEERS_CALL);
    guard_step("the contact of %u silent peers", crowd->count);
    if (busy->rank == 1 && crowd->is_of_ranks) {
        ranks_serve(crowd);
    } else if (busy->rank == 1) {
        helpers_call(busy, &crowd->many, crowd->count);
        helpers_call(&crowd->quiet, &crowd->single, 1);
    }
    pair_verify_served(busy, crowd->count);
    pair_verify_served(&crowd->quiet, 1);
    MPI_Barrier(busy->comm);
}

static void helpers_part(struct pair *pair, struct helpers *helpers)
{
    while (!helpers_stop(helpers)) {
        pair_turn(pair);
        sched_yield();
    }
}

void crowd_close(struct crowd *crowd)
{
    if (crowd->is_of_ranks)
        peers_tell(&crowd->busy, PEERS_PART);
    guard_step("the end of %u silent peers", crowd->count);
    if (!crowd->is_of_ranks && crowd->busy.rank == 1) {
        helpers_part(&crowd->busy, &crowd->many);
        helpers_part(&crowd->quiet, &crowd->single);
    }
    MPI_Barrier(crowd->busy.comm);
    pair_leave(&crowd->quiet);
    pair_leave(&crowd->busy);
    pair_close(&crowd->busy);
    pair_close(&crowd->quiet);
}
