/* SPDX-License-Identifier: BSD-3-Clause */
/* Null calls between two ranks that share one core, and so have to sleep.
 *
 * Who spins there takes the time that the other needs to answer. Both sides
 * wait inside HG_Progress(), and the control is what the kernel needs to wake
 * the one and the other. The class is opened when the ranks are on that core
 * already: how it waits may be decided then. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/base/reach.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/latency.h"

enum { CALLS = 1000, WAIT_MS = 100 };

#define CONTROL_TEXT                                                           \
    "round trips of one byte by read() and write() on two pipes, between the " \
    "same two ranks on the same core"

/* Each rank reads from one pipe and writes to the other. */
struct ends {
    int in;
    int out;
};

static void byte_write(const struct pair *pair, const struct ends *ends)
{
    unsigned char byte = 1;

    while (write(ends->out, &byte, 1) != 1)
        if (errno != EINTR)
            pair_fail(pair, "writing to a pipe: %s", strerror(errno));
}

static void byte_read(const struct pair *pair, const struct ends *ends)
{
    unsigned char byte = 0;
    ssize_t len = 0;

    while ((len = read(ends->in, &byte, 1)) != 1)
        if (len == 0 || errno != EINTR)
            pair_fail(pair, "reading from a pipe: %s",
                len == 0 ? "the other rank is gone" : strerror(errno));
}

static void trip_once(const struct pair *pair, const struct ends *ends)
{
    if (pair->rank == 0) {
        byte_write(pair, ends);
        byte_read(pair, ends);
    } else {
        byte_read(pair, ends);
        byte_write(pair, ends);
    }
}

static double pipe_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct ends *ends = duel->more;
    double start_us = 0.0;
    double before_us = 0.0;

    for (unsigned i = 0; i < DUEL_WARM; i++)
        trip_once(pair, ends);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        trip_once(pair, ends);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    return before_us - start_us;
}

/* Each rank makes the pipe it reads from, and opens the other's. */
static void ends_open(const struct pair *pair, struct ends *ends)
{
    struct reach own;
    struct reach other;
    int pipe_ends[2] = {-1, -1};

    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        pair_fail(pair, "pipe: %s", strerror(errno));
    ends->in = pipe_ends[0];
    reach_offer(pipe_ends[1], &own);
    MPI_Sendrecv(&own, sizeof(own), MPI_BYTE, 1 - pair->rank, 0, &other,
        sizeof(other), MPI_BYTE, 1 - pair->rank, 0, pair->comm,
        MPI_STATUS_IGNORE);
    ends->out = reach_open(&other, O_WRONLY);
    if (ends->out < 0)
        pair_fail(pair, "the other rank's pipe: %s", strerror(errno));
    MPI_Barrier(pair->comm);
    /* From now on the other rank alone can write, and its end is seen. */
    close(pipe_ends[1]);
}

static void ends_close(struct ends *ends)
{
    close(ends->in);
    close(ends->out);
}

static void row_run(struct pair *pair, struct ends *ends)
{
    struct duel duel = {
        .ours = latency_batch,
        .control = pipe_batch,
        .size = 0,
        .window = 1,
        .calls = pair->options->calls == 0 ? CALLS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_KPS,
        .context = DUEL_CONTEXT_BOTH,
        .more = ends,
    };
    struct row row = {
        .bench = "onecore",
        .op = "rpc_onecore",
        .memory = "host",
        .against = "pipe",
        .control = CONTROL_TEXT,
    };

    duel_run(pair, &duel, &row);
}

void bench_onecore(struct pair *pair)
{
    struct pair one;
    struct ends ends;
    struct pin pin;
    int core = -1;

    if (!pair_is_of_two(pair, "onecore"))
        return;
    if (!pin_set_together(&pin, pair->comm, &core)) {
        if (pair->rank == 0)
            fputs("amalgam_bench: onecore is left out: the ranks have no core "
                  "in common\n",
                stderr);
        return;
    }
    pair_copy(pair, &one);
    snprintf(one.cores, sizeof(one.cores), "%d %d", core, core);
    one.wait_ms = WAIT_MS;
    /* The same transport; so its class has one context in all its life. */
    memcpy(one.via, pair->via, sizeof(one.via));
    if (!pair_open(&one, pair->comm, pair->options->transport))
        pair_fail(pair, "no class for two ranks on one core");
    ends_open(&one, &ends);
    row_run(&one, &ends);
    ends_close(&ends);
    pair_close(&one);
    pin_restore(&pin);
}
