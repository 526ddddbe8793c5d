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

/* By a rank that is a silent peer of that class. */
static void peer_call(struct pair *pair)
{
    guard_step("the contact of a silent peer");
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() gave none");
    pair_call_once(pair, pair->null_id);
}

void peers_run(
    struct pair *pair, void (*team_run)(struct pair *pair, unsigned number))
{
    struct pair both[2]; /* busy, quiet */
    int command = 0;

    while ((command = command_await(pair)) != PEERS_END) {
        if (command >= PEERS_TEAM)
            team_run(pair, (unsigned)(command - PEERS_TEAM));
        for (unsigned i = 0; i < 2 && command < PEERS_TEAM; i++) {
            if (command == PEERS_OPEN) {
                pair_copy(pair, &both[i]);
                if (!pair_open(
                        &both[i], pair->world->comm, pair->options->transport))
                    pair_fail(pair, "no class for the silent peers");
            }
            if (command == PEERS_CALL && (i == 0 || pair->rank == 2))
                peer_call(&both[i]);
            if (command == PEERS_PART && both[i].context != NULL)
                CHECK(pair, HG_Context_destroy(both[i].context));
            if (command == PEERS_PART)
                pair_close(&both[i]);
        }
    }
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
    *crowd = (struct crowd){.info = info};
    crowd->count =
        info == NULL ? (unsigned)pair->world->size - 2 : pair->options->peers;
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

/* A class of its own calls rank 1 of the pair once, and is silent then. */
static void contact_make(
    const struct pair *pair, const char *info, struct contact *ret_contact)
{
    struct pair peer = {.rank = pair->rank, .options = pair->options};
    char text[TEXT_LEN];
    hg_size_t len = sizeof(text);

    CHECK(pair, HG_Addr_to_string(pair->cls, text, &len, pair->peer));
    peer.cls = HG_Init(info, HG_FALSE);
    peer.context = peer.cls == NULL ? NULL : HG_Context_create(peer.cls);
    if (peer.context == NULL)
        pair_fail(pair, "no class of a silent peer over %s", info);
    CHECK(pair, HG_Addr_lookup2(peer.cls, text, &peer.peer));
    peer.wait_ms = PAIR_WAIT_MS;
    pair_call_once(
        &peer, HG_Register_name(peer.cls, "bench null", NULL, NULL, NULL));
    *ret_contact = (struct contact){peer.cls, peer.context, peer.peer};
}

/* Each class has descriptors of its own. */
static void descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void crowd_gather(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;
    struct pair *quiet = &crowd->quiet;

    if (crowd->info == NULL)
        peers_tell(busy, PEERS_CALL);
    guard_step("the contact of %u silent peers", crowd->count);
    if (crowd->info != NULL && busy->rank == 0) {
        descriptors_allow();
        crowd->contacts =
            pair_alloc(busy, crowd->count + 1, sizeof(*crowd->contacts));
        for (unsigned i = 0; i <= crowd->count; i++)
            contact_make(i < crowd->count ? busy : quiet, crowd->info,
                &crowd->contacts[i]);
    }
    while (
        busy->rank == 1 && (busy->served < crowd->count || quiet->served < 1)) {
        pair_turn(busy);
        pair_turn(quiet);
        sched_yield();
    }
    pair_verify_served(busy, crowd->count);
    pair_verify_served(quiet, 1);
    MPI_Barrier(busy->comm);
}

/* Rank 0's. */
static void contacts_end(struct crowd *crowd)
{
    for (unsigned i = 0; crowd->contacts != NULL && i <= crowd->count; i++) {
        struct contact *contact = &crowd->contacts[i];

        HG_Addr_free(contact->cls, contact->addr);
        HG_Context_destroy(contact->context);
        CHECK(&crowd->busy, HG_Finalize(contact->cls));
    }
    free(crowd->contacts);
}

void crowd_close(struct crowd *crowd)
{
    MPI_Request request;
    int is_over = 0;

    if (crowd->info == NULL)
        peers_tell(&crowd->busy, PEERS_PART);
    guard_step("the end of %u silent peers", crowd->count);
    contacts_end(crowd);
    MPI_Ibarrier(crowd->busy.comm, &request);
    while (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), !is_over) {
        pair_turn(&crowd->busy);
        pair_turn(&crowd->quiet);
        sched_yield();
    }
    pair_leave(&crowd->quiet);
    pair_leave(&crowd->busy);
    pair_close(&crowd->busy);
    pair_close(&crowd->quiet);
}
