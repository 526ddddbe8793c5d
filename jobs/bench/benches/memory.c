/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of peers that have called once and are silent since, in the time of a
 * call (silent) and in memory; and the memory of an idle listening context
 * (memory).
 *
 * silent: rank 1 has two classes: many peers have contacted the one, a single
 * peer the other. Rank 0 calls now the one, now the other; the contexts of both
 * stay open, and only that of the batch is looked at.
 *
 * memory: from before the class is opened to after its context was created, as
 * the kernel counts; opened for the first time in this process, so that what is
 * taken once is counted. MPI runs by then, and is the control. */
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/peers.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

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
    if (!pair_open_class(&idle, pair->comm, pair->options->transport, false))
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
