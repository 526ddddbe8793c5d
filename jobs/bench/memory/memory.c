/* SPDX-License-Identifier: BSD-3-Clause */
/* What an idle listening context takes, and each peer that has contacted it.
 *
 * From before the class is opened to after its context was created, as the
 * kernel counts; opened for the first time in this process, so that what is
 * taken once is counted. MPI runs by then, and is the control. */
#include <string.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/smaps.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/crowd.h"

#define CONTROL_PROCESS_TEXT                                                   \
    "what the same process had before, with MPI started and no class open"
#define CONTROL_ALONE_TEXT                                                     \
    "what a process without MPI had before it opened the same"
#define CONTROL_SEGMENT_TEXT                                                   \
    "the length of the shared mappings of the class, touched or not"
#define CONTROL_PEERS_TEXT "what the process had before the peers made contact"

/* Rank 0 adds a row of what rank 1 has measured, in KiB. */
static void row_add(const struct pair *pair, const char *op, double value,
    double control_value, unsigned peers, const char *against,
    const char *control)
{
    struct row row = {
        .bench = "memory",
        .op = op,
        .window = 0,
        .peers = peers,
        .memory = "host",
        .unit = "KiB",
        .value = value,
        .against = against,
        .control = control,
        .control_value = control_value,
        .better = "lower",
        .batches = 1,
    };

    if (pair->rank != 0)
        return;
    if (control_value > 0.0)
        row.ratio = value / control_value;
    row.spread[0] = row.spread[1] = row.ratio;
    pair_row(pair, &row);
    rows_add(&row);
}

static void smaps_take(const struct pair *pair, struct smaps *ret_smaps)
{
    if (!smaps_read(ret_smaps))
        pair_fail(pair, "/proc/self/smaps_rollup cannot be read");
}

/* Rank 1's, which is the one that serves; or rank 0's own. */
static void smaps_send(const struct pair *pair, struct smaps *smaps)
{
    MPI_Bcast(smaps, sizeof(*smaps), MPI_BYTE, 1, pair->comm);
}

/* The names of three rows. */
struct words {
    const char *rss;
    const char *pss;
    const char *segment;
    const char *control;
};

static const struct words idle_words = {
    "idle_rss", "idle_pss", "idle_segment", CONTROL_PROCESS_TEXT};
static const struct words alone_words = {
    "alone_rss", "alone_pss", "alone_segment", CONTROL_ALONE_TEXT};

static void idle_rows(const struct pair *pair, const struct smaps *before,
    const struct smaps *after, const struct words *words)
{
    row_add(pair, words->rss, after->rss - before->rss, before->rss, 0,
        "process", words->control);
    row_add(pair, words->pss, after->pss - before->pss, before->pss, 0,
        "process", words->control);
    if (after->shared_len > before->shared_len)
        row_add(pair, words->segment,
            after->shared_touched - before->shared_touched,
            after->shared_len - before->shared_len, 0, "length",
            CONTROL_SEGMENT_TEXT);
}

/* The same in a process that has nothing but the class, where the transport
 * does without MPI. */
static void alone_rows(const struct pair *pair)
{
    bool is_self = strcmp(pair->via, "self") == 0;
    const char *info = is_self ? "self" : crowd_info(pair);
    struct smaps before;
    struct smaps after;

    if (info == NULL || pair->rank != 0)
        return;
    guard_step("a process over %s that measures itself", info);
    if (helper_measure(info, pair->options->deadline_s, &before, &after))
        idle_rows(pair, &before, &after, &alone_words);
    else
        pair_fail(pair, "a process of its own cannot be measured");
}

/* What belongs to this process alone, and what exists of what it shares: more
 * processes of this program make its share of the program smaller, and so PSS
 * says little of the peers when these are such processes. */
static double own_kib(const struct smaps *smaps)
{
    return smaps->anonymous + smaps->shared_touched;
}

/* Each peer's share of what its contact and that of the others took. */
static void peer_row(struct pair *pair)
{
    struct crowd crowd;
    struct smaps before;
    struct smaps after;

    if (!crowd_open(&crowd, pair))
        return;
    smaps_take(pair, &before);
    crowd_gather(&crowd);
    smaps_take(pair, &after);
    smaps_send(pair, &before);
    smaps_send(pair, &after);
    row_add(pair, "peer", (own_kib(&after) - own_kib(&before)) / crowd.count,
        own_kib(&before), crowd.count, "process", CONTROL_PEERS_TEXT);
    crowd_close(&crowd);
}

void bench_memory(struct pair *pair)
{
    struct pair idle;
    struct smaps before;
    struct smaps after;

    pair_copy(pair, &idle);
    MPI_Barrier(pair->comm);
    smaps_take(pair, &before); /* once, for what the reading itself takes */
    smaps_take(pair, &before);
    if (!pair_open_alone(&idle, pair->comm, pair->options->transport))
        pair_fail(pair, "no class to be measured");
    pair_enter(&idle);
    smaps_take(pair, &after);
    pair_leave(&idle);
    pair_meet(&idle);
    smaps_send(pair, &before);
    smaps_send(pair, &after);
    idle_rows(&idle, &before, &after, &idle_words);
    alone_rows(&idle);
    peer_row(&idle);
    pair_close(&idle);
}
