/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks beyond two, and the silent peers of a rank.
 *
 * MPI cannot sleep until a message comes, so these ranks look for one a few
 * times a second: 64 of them then take less than a hundredth of a core. */
#include "jobs/bench/frame/peers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "jobs/bench/frame/clock.h"
#include "jobs/bench/frame/watch.h"

enum { NAP_US = 100000, TEXT_LEN = 512 };

void peers_tell(struct pair *pair, int command)
{
    MPI_Request request;

    if (pair->world->size == 2)
        return;
    guard_step("waking the ranks beyond two");
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    guard_rest();
}

static int command_await(const struct pair *pair)
{
    MPI_Request request;
    int command = 0;
    int is_here = 0;

    guard_rest();
    MPI_Ibcast(&command, 1, MPI_INT, 0, pair->world->comm, &request);
    while (MPI_Test(&request, &is_here, MPI_STATUS_IGNORE), !is_here)
        pause_us(NAP_US);
    return command;
}

/* A rank beyond two as a silent peer: opens the two classes as the two ranks
 * do, calls rank 1 in the first one, and rank 2 in both, and closes them. */
static void crowd_join(struct pair *pair)
{
    unsigned count = pair->rank == 2 ? 2 : 1;
    struct pair both[2]; /* busy, quiet */

    for (unsigned i = 0; i < 2; i++) {
        pair_copy(pair, &both[i]);
        if (!pair_open(&both[i], pair->world->comm, pair->options->transport))
            pair_fail(pair, "no class for the silent peers");
    }
    (void)command_await(pair);
    guard_step("the contact of a silent peer");
    for (unsigned i = 0; i < count; i++) {
        both[i].context = HG_Context_create(both[i].cls);
        if (both[i].context == NULL)
            pair_fail(pair, "HG_Context_create() gave none");
        pair_call_once(&both[i], both[i].null_id);
    }
    (void)command_await(pair);
    for (unsigned i = 0; i < count; i++)
        CHECK(pair, HG_Context_destroy(both[i].context));
    for (unsigned i = 0; i < 2; i++)
        pair_close(&both[i]);
}

void peers_run(
    struct pair *pair, void (*team_run)(struct pair *pair, unsigned number))
{
    int command = 0;

    while ((command = command_await(pair)) != PEERS_END)
        if (command == PEERS_CROWD)
            crowd_join(pair);
        else
            team_run(pair, (unsigned)(command - PEERS_TEAM));
}

/* The string that opens the transport between the two in processes without MPI;
 * NULL: there is none, or the peers are further ranks. */
static const char *crowd_info(const struct pair *pair)
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
    *crowd = (struct crowd){.info = info, .count = pair->options->peers};
    pair_copy(pair, &crowd->busy);
    pair_copy(pair, &crowd->quiet);
    if (info == NULL) {
        crowd->count = (unsigned)pair->world->size - 2;
        info = pair->options->transport;
        peers_tell(pair, PEERS_CROWD);
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

/* A class of its own calls rank 1 of the pair once, and is silent then. */
static void peer_open(
    const struct pair *pair, const char *info, struct pair *ret_peer)
{
    struct pair peer = {.rank = pair->rank, .wait_ms = PAIR_WAIT_MS};
    char text[TEXT_LEN];
    hg_size_t len = sizeof(text);

    CHECK(pair, HG_Addr_to_string(pair->cls, text, &len, pair->peer));
    peer.cls = HG_Init(info, HG_FALSE);
    peer.context = peer.cls == NULL ? NULL : HG_Context_create(peer.cls);
    if (peer.context == NULL)
        pair_fail(pair, "no class of a silent peer over %s", info);
    CHECK(pair, HG_Addr_lookup2(peer.cls, text, &peer.peer));
    pair_call_once(
        &peer, HG_Register_name(peer.cls, "bench null", NULL, NULL, NULL));
    *ret_peer = peer;
}

/* Serves both classes. */
static void crowd_turn(struct crowd *crowd)
{
    pair_turn(&crowd->busy);
    pair_turn(&crowd->quiet);
    sched_yield();
}

void crowd_gather(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;
    struct pair *quiet = &crowd->quiet;
    struct rlimit limit;

    if (crowd->info == NULL)
        peers_tell(busy, PEERS_GO);
    guard_step("the contact of %u silent peers", crowd->count);
    if (crowd->info != NULL && busy->rank == 0) {
        /* Each class has descriptors of its own. */
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(RLIMIT_NOFILE, &limit);
        }
        crowd->peers =
            pair_alloc(busy, crowd->count + 1, sizeof(*crowd->peers));
        for (unsigned i = 0; i <= crowd->count; i++)
            peer_open(
                i < crowd->count ? busy : quiet, crowd->info, &crowd->peers[i]);
    }
    while (
        busy->rank == 1 && (busy->served < crowd->count || quiet->served < 1))
        crowd_turn(crowd);
    pair_verify_served(busy, crowd->count);
    pair_verify_served(quiet, 1);
    MPI_Barrier(busy->comm);
}

void crowd_close(struct crowd *crowd)
{
    MPI_Request request;
    int is_over = 0;

    if (crowd->info == NULL)
        peers_tell(&crowd->busy, PEERS_GO);
    guard_step("the end of %u silent peers", crowd->count);
    for (unsigned i = 0; crowd->peers != NULL && i <= crowd->count; i++) {
        struct pair *peer = &crowd->peers[i];

        HG_Addr_free(peer->cls, peer->peer);
        HG_Context_destroy(peer->context);
        CHECK(&crowd->busy, HG_Finalize(peer->cls));
    }
    free(crowd->peers);
    MPI_Ibarrier(crowd->busy.comm, &request);
    while (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), !is_over)
        crowd_turn(crowd);
    pair_leave(&crowd->quiet);
    pair_leave(&crowd->busy);
    pair_close(&crowd->busy);
    pair_close(&crowd->quiet);
}
