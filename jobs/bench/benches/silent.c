/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to a rank that many silent peers have called once.
 *
 * Rank 1 has two classes: many peers have contacted the busy class, a single
 * peer the quiet class. These peers are further classes of rank 0. Rank 0 calls
 * the two classes in turn; both contexts stay open, and only the context of the
 * class that is being timed is polled. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

enum { TEXT_LEN = 512 };

/* Opens a class that calls rank 1 of the pair once, and then is silent. */
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

/* Two classes at each of the two ranks, with a context each. The last peer
 * contacts `quiet`, all others `busy`. */
struct crowd {
    struct pair busy;
    struct pair quiet;
    unsigned count;     /* number of peers, without the last one */
    struct pair *peers; /* classes of rank 0 */
};

static void crowd_open(
    struct crowd *crowd, const struct pair *pair, const char *info)
{
    struct pair *both[] = {&crowd->busy, &crowd->quiet};
    struct rlimit limit;

    guard_step("the contact of %u silent peers", crowd->count);
    for (unsigned i = 0; i < 2; i++) {
        pair_copy(pair, both[i]);
        if (!pair_open(both[i], info))
            pair_fail(pair, "no two classes over one transport");
        pair_enter(both[i]);
    }
    /* Rows name the transport that the user asked for. */
    crowd->busy.transport = pair->transport;
    crowd->peers = pair_alloc(pair, crowd->count + 1, sizeof(*crowd->peers));
    /* Each class needs descriptors of its own. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (unsigned i = 0; i <= crowd->count && pair->rank == 0; i++)
        peer_open(both[i == crowd->count], info, &crowd->peers[i]);
    while (pair->rank == 1 &&
           (crowd->busy.served < crowd->count || crowd->quiet.served < 1)) {
        pair_turn(&crowd->busy);
        pair_turn(&crowd->quiet);
        sched_yield();
    }
    pair_verify_served(&crowd->busy, crowd->count);
    pair_verify_served(&crowd->quiet, 1);
    MPI_Barrier(pair->comm);
}

static void crowd_close(struct crowd *crowd, const struct pair *pair)
{
    struct pair *both[] = {&crowd->busy, &crowd->quiet};
    MPI_Request request;
    int is_over = 0;

    guard_step("the end of %u silent peers", crowd->count);
    for (unsigned i = 0; i <= crowd->count && pair->rank == 0; i++) {
        struct pair *peer = &crowd->peers[i];

        HG_Addr_free(peer->cls, peer->peer);
        HG_Context_destroy(peer->context);
        CHECK(pair, HG_Finalize(peer->cls));
    }
    free(crowd->peers);
    MPI_Ibarrier(pair->comm, &request);
    while (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), !is_over) {
        pair_turn(&crowd->busy);
        pair_turn(&crowd->quiet);
        sched_yield();
    }
    for (unsigned i = 0; i < 2; i++) {
        pair_leave(both[i]);
        pair_close(both[i]);
    }
}

void bench_silent(struct pair *pair)
{
    /* A class of one process reaches the other rank of its node by na+sm. */
    bool is_near = strcmp(pair->via, "sm") == 0 ||
                   strcmp(pair->via, "shm") == 0 ||
                   strcmp(pair->via, "na+sm") == 0;
    const char *info = is_near ? "na+sm" : pair->transport;
    struct crowd crowd = {.count = pair->options->peers};
    struct duel duel = {"rpc_silent", "one peer",
        "the same call to another class there, which only one silent peer "
        "has contacted",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .peers = crowd.count,
        .figure = DUEL_US, .ours = {calls_latency},
        .control = {calls_latency, .pair = &crowd.quiet}};

    if (!is_near && strncmp(pair->via, "ofi+", 4) != 0) {
        pair_say(pair, "no silent peers: over %s a process has one class",
            pair->via);
        return;
    }
    crowd_open(&crowd, pair, info);
    duel_run(&crowd.busy, &duel);
    crowd_close(&crowd, pair);
}
