/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of peers that have called once and are silent since, in the time of a
 * call (silent) and in memory; and the memory of an idle listening context
 * (memory).
 *
 * silent: rank 1 has two classes: many peers have contacted the one, a single
 * peer the other; they are classes that rank 0 opens beside its own. Rank 0
 * calls now the one, now the other; the contexts of both stay open, and only
 * that of the batch is looked at.
 *
 * memory: from before the class is opened to after its context was created, as
 * the kernel counts; opened for the first time in this process, so that what is
 * taken once is counted. MPI runs by then, and is the control. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

enum { TEXT_LEN = 512 };

/* A rank with many silent peers, and the same rank with one: two classes of
 * each of the two ranks, with a context each. */
struct crowd {
    struct pair busy;  /* `count` peers contact it */
    struct pair quiet; /* one does */
    unsigned count;
    const char *info;   /* opens the peers */
    struct pair *peers; /* classes of rank 0, the last one of `quiet` */
};

/* The string that opens the transport between the two in a class of one
 * process; NULL: there is none. */
static const char *crowd_info(const struct pair *pair)
{
    if (strcmp(pair->via, "sm") == 0 || strcmp(pair->via, "shm") == 0 ||
        strcmp(pair->via, "na+sm") == 0)
        return "na+sm";
    return strncmp(pair->via, "ofi+", 4) == 0 ? pair->transport : NULL;
}

static bool crowd_open(struct crowd *crowd, struct pair *pair)
{
    *crowd =
        (struct crowd){.info = crowd_info(pair), .count = pair->options->peers};
    if (crowd->info == NULL) {
        pair_say(pair, "no silent peers: over %s a process has one class",
            pair->via);
        return false;
    }
    pair_copy(pair, &crowd->busy);
    pair_copy(pair, &crowd->quiet);
    if (!pair_open(&crowd->busy, crowd->info) ||
        !pair_open(&crowd->quiet, crowd->info))
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

static void crowd_gather(struct crowd *crowd)
{
    struct pair *busy = &crowd->busy;
    struct pair *quiet = &crowd->quiet;
    struct rlimit limit;

    guard_step("the contact of %u silent peers", crowd->count);
    if (busy->rank == 0) {
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

static void crowd_close(struct crowd *crowd)
{
    MPI_Request request;
    int is_over = 0;

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

void bench_silent(struct pair *pair)
{
    struct crowd crowd;
    struct duel duel = {"rpc_silent", "one peer",
        "the same call to a class of the same process that one silent "
        "peer has contacted",
        .calls = CALLS_LATENCY, .warm = DUEL_WARM, .figure = DUEL_US,
        .ours = {calls_latency},
        .control = {calls_latency, .pair = &crowd.quiet}};

    if (!crowd_open(&crowd, pair))
        return;
    duel.peers = crowd.count;
    crowd_gather(&crowd);
    duel_run(&crowd.busy, &duel, NULL);
    crowd_close(&crowd);
}

/* Rank 0 adds a row of what rank 1 has measured, in KiB. */
static void row_add(const struct pair *pair, struct row row)
{
    row.unit = "KiB";
    pair_value(pair, &row);
}

static void smaps_take(const struct pair *pair, struct smaps *ret_smaps)
{
    if (!smaps_read(ret_smaps))
        pair_fail(pair, "/proc/self/smaps_rollup cannot be read");
}

static void idle_rows(const struct pair *pair, const struct smaps *before,
    const struct smaps *after)
{
    static const char process[] =
        "what the same process had before, with MPI started and no class open";
    double len = after->shared_len - before->shared_len;

    row_add(pair, (struct row){"idle_rss", .value = after->rss - before->rss,
                      .against = "process", .control = process,
                      .control_value = before->rss});
    row_add(pair, (struct row){"idle_pss", .value = after->pss - before->pss,
                      .against = "process", .control = process,
                      .control_value = before->pss});
    if (len > 0.0)
        row_add(pair,
            (struct row){"idle_segment",
                .value = after->shared_touched - before->shared_touched,
                .against = "length",
                .control = "the length of the shared mappings of the class, "
                           "touched or not",
                .control_value = len});
}

/* The pages of this process alone, and the existing ones of those it shares.
 * PSS says little of peers that are processes of this program: they make this
 * one's share of the program smaller. */
static double own_kib(const struct smaps *smaps)
{
    return smaps->anonymous + smaps->shared_touched;
}

/* Each peer's share of what its contact and that of the others took. */
static void peer_row(struct pair *pair)
{
    struct crowd crowd;
    struct smaps both[2];

    if (!crowd_open(&crowd, pair))
        return;
    smaps_take(pair, &both[0]);
    crowd_gather(&crowd);
    smaps_take(pair, &both[1]);
    MPI_Bcast(both, sizeof(both), MPI_BYTE, 1, pair->comm);
    row_add(pair,
        (struct row){"peer", .peers = crowd.count,
            .value = (own_kib(&both[1]) - own_kib(&both[0])) / crowd.count,
            .against = "process",
            .control = "what the process had before the peers made contact",
            .control_value = own_kib(&both[0])});
    crowd_close(&crowd);
}

void bench_memory(struct pair *pair)
{
    struct pair idle;
    struct smaps both[2];

    pair_copy(pair, &idle);
    MPI_Barrier(pair->comm);
    smaps_take(pair, &both[0]); /* once, for what the reading itself takes */
    smaps_take(pair, &both[0]);
    if (!pair_open_class(&idle, pair->options->transport, false))
        pair_fail(pair, "no class to be measured");
    pair_enter(&idle);
    smaps_take(pair, &both[1]);
    pair_leave(&idle);
    pair_meet(&idle);
    MPI_Bcast(both, sizeof(both), MPI_BYTE, 1, pair->comm);
    idle_rows(&idle, &both[0], &both[1]);
    peer_row(&idle);
    pair_close(&idle);
}
