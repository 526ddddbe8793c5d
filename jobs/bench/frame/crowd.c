/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank with many silent peers, and the same rank with one. */
#include "jobs/bench/frame/crowd.h"

#include <string.h>

#include "jobs/bench/frame/peers.h"
#include "jobs/bench/frame/watch.h"

enum { TEXT_LEN = 512 };

const char *crowd_info(const struct pair *pair)
{
    if (pair->is_collective && pair->world->size >= 4)
        return NULL;
    if (strcmp(pair->via, "sm") == 0 || strcmp(pair->via, "shm") == 0 ||
        strcmp(pair->via, "na+sm") == 0)
        return "na+sm";
    return strncmp(pair->via, "ofi+", 4) == 0 ? pair->transport : NULL;
}

bool crowd_open(struct crowd *ret_crowd, struct pair *pair)
{
    struct crowd *crowd = ret_crowd;
    const char *info = crowd_info(pair);
    MPI_Comm comm = info == NULL ? pair->world->comm : pair->comm;

    if (info == NULL && strcmp(pair->via, "self") == 0) {
        pair_say(pair, "no silent peers: nobody else can call over self");
        return false;
    }
    if (info == NULL && pair->world->size < 4) {
        pair_say(pair, "no silent peers: over MPI the peers are ranks, and "
                       "there are none: start it with -n 4 or more");
        return false;
    }
    *crowd = (struct crowd){.is_of_ranks = info == NULL};
    crowd->count = crowd->is_of_ranks ? (unsigned)pair->world->size - 2
                                      : pair->options->peers;
    pair_copy(pair, &crowd->busy);
    pair_copy(pair, &crowd->quiet);
    if (info == NULL) {
        info = pair->options->transport;
        peers_tell(pair, PEERS_OPEN);
    }
    if (!pair_open(&crowd->busy, comm, info) ||
        !pair_open(&crowd->quiet, comm, info))
        pair_fail(pair, "no two classes over one transport");
    /* As it was asked for, not as it is opened here. */
    crowd->busy.transport = pair->transport;
    pair_enter(&crowd->busy);
    pair_enter(&crowd->quiet);
    return true;
}

static void helpers_call(
    struct pair *pair, struct helpers *helpers, unsigned count)
{
    char text[TEXT_LEN];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;
    bool has_failed = false;

    CHECK(pair, HG_Addr_self(pair->cls, &self));
    CHECK(pair, HG_Addr_to_string(pair->cls, text, &len, self));
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

void crowd_gather(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;
    struct pair *quiet = &crowd->quiet;

    if (crowd->is_of_ranks)
        peers_tell(busy, PEERS_CALL);
    guard_step("the contact of %u silent peers", crowd->count);
    if (busy->rank == 1 && !crowd->is_of_ranks) {
        helpers_call(busy, &crowd->many, crowd->count);
        helpers_call(quiet, &crowd->single, 1);
    }
    while (busy->rank == 1 && crowd->is_of_ranks &&
           (busy->served < crowd->count || quiet->served < 1)) {
        pair_turn(busy);
        pair_turn(quiet);
        sched_yield();
    }
    pair_verify_served(busy, crowd->count);
    pair_verify_served(quiet, 1);
    MPI_Barrier(busy->comm);
}

void crowd_close(struct crowd *crowd)
{
    struct pair *pairs[] = {&crowd->busy, &crowd->quiet};
    struct helpers *helpers[] = {&crowd->many, &crowd->single};

    if (crowd->is_of_ranks)
        peers_tell(pairs[0], PEERS_PART);
    guard_step("the end of %u silent peers", crowd->count);
    for (unsigned i = 0; i < 2; i++)
        while (!crowd->is_of_ranks && pairs[i]->rank == 1 &&
               !helpers_stop(helpers[i])) {
            pair_turn(pairs[i]);
            sched_yield();
        }
    MPI_Barrier(pairs[0]->comm);
    pair_leave(pairs[1]);
    pair_leave(pairs[0]);
    pair_close(pairs[0]);
    pair_close(pairs[1]);
}
