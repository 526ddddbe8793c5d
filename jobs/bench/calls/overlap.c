/* SPDX-License-Identifier: BSD-3-Clause */
/* What a progress thread gives a rank that computes, and what it takes.
 *
 * It gives answers: rank 1 computes on a core of its own, and its progress
 * thread shares rank 0's core with the caller, both asleep when there is
 * nothing; or it shares that of the program. The work loses by the calls, and
 * by a thread that has none: that takes time of the core when it shares that of
 * the program: after a second without news it looks for some as seldom as it
 * ever will. */
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/overlap.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pause.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/base/work.h"
#include "jobs/bench/calls/served.h"

enum {
    CALLS = 300,
    CALLS_NAPPING = 40, /* each may last as long as a nap, 5 ms */
    SLICE_US = 1000,
    IDLE_US = 1000000,
    IDLE_QUICK_US = 250000,
    IDLE_SMOKE_US = 10000,
    UNITS = 300,
};

#define SERVED_TEXT                                                            \
    "the same call while rank 1 sleeps on a semaphore, and does not compute"
#define WORK_TEXT                                                              \
    "the same work on the same core, by a rank without a progress thread: "    \
    "progress in the caller"

static double computing_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct served *served = duel->more;

    if (pair->rank == 0)
        return served_calls(served, duel, 0, ret_samples);
    while (!served_is_over(served))
        work_for_us(SLICE_US);
    served_wait(served);
    return 0.0;
}

static double asleep_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct served *served = duel->more;

    if (pair->rank == 0)
        return served_calls(served, duel, 0, ret_samples);
    served_wait(served);
    return 0.0;
}

static unsigned calls_of(const struct pair *pair)
{
    if (pair->options->calls != 0)
        return pair->options->calls;
    return pair_is_napping(pair) ? CALLS_NAPPING : CALLS;
}

/* A call to a rank that computes: its time, or how many are answered. */
static void served_row(
    struct served *served, const char *op, enum duel_figure figure)
{
    struct pair *pair = &served->pair;
    struct duel duel = {
        .ours = computing_batch,
        .control = asleep_batch,
        .window = 1,
        .calls = calls_of(pair),
        .batches = pair->options->batches,
        .figure = figure,
        .context = DUEL_CONTEXT_BOTH,
        .more = served,
    };
    struct row row = {
        .bench = "overlap",
        .op = op,
        .memory = "host",
        .against = "asleep",
        .control = SERVED_TEXT,
    };

    duel_run(pair, &duel, &row);
}

/* Rank 1's progress thread is to run on that core of its own machine. */
static void target_by_thread(struct served *served, int core)
{
    if (served->pair.rank == 0)
        served_by_caller(served, AMALGAM_WAIT_SLEEP);
    else
        served_by_thread(served, AMALGAM_WAIT_SLEEP, core);
}

/* The thread has the core on which rank 0's caller sits; then that of the
 * program, which has to make room for it. */
static void served_rows(struct served *served)
{
    struct pair *pair = &served->pair;
    int core = pair->is_one_machine ? pin_core() : -1;

    MPI_Bcast(&core, 1, MPI_INT, 0, pair->comm);
    target_by_thread(served, core);
    served_row(served, "rpc_computing", DUEL_US);
    served_row(served, "calls_apart", DUEL_KPS);
    overlap_serving_row(served, "work_apart");
    target_by_thread(served, pin_core());
    served_row(served, "calls_shared", DUEL_KPS);
    overlap_serving_row(served, "work_shared");
}

/* The peers know each other, all is quiet for a while; then both work. */
static double work_batch(
    struct served *served, const struct duel *duel, double *ret_samples)
{
    struct pair *pair = &served->pair;
    double start_us = 0.0;
    double before_us = 0.0;

    pair_enter(pair);
    served_meet(served);
    pause_us(
        options_pick(pair->options, IDLE_US, IDLE_QUICK_US, IDLE_SMOKE_US));
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        work_unit();
        ret_samples[i] = clock_lap_us(&before_us);
    }
    pair_leave(pair);
    return before_us - start_us;
}

static double with_thread_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct served *served = duel->more;

    (void)pair;
    served_by_thread(served, AMALGAM_WAIT_AUTO, pin_core());
    return work_batch(served, duel, ret_samples);
}

static double without_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct served *served = duel->more;

    (void)pair;
    served_by_caller(served, AMALGAM_WAIT_AUTO);
    return work_batch(served, duel, ret_samples);
}

static void work_row(struct served *served)
{
    struct pair *pair = &served->pair;
    struct duel duel = {
        .ours = with_thread_batch,
        .control = without_batch,
        .window = 1,
        .calls = pair->options->calls == 0 ? UNITS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_MEAN_US,
        .context = DUEL_CONTEXT_OWN,
        .more = served,
    };
    struct row row = {
        .bench = "overlap",
        .op = "compute",
        .memory = "host",
        .against = "no thread",
        .control = WORK_TEXT,
    };

    duel_run(pair, &duel, &row);
}

void bench_overlap(struct pair *pair)
{
    struct served served;

    if (!pair_is_of_two(pair, "overlap"))
        return;
    served_open(&served, pair);
    served_rows(&served);
    work_row(&served);
    served_close(&served);
}
