/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains and costs of a progress thread beside a rank that computes.
 *
 * Gain: rank 1 computes on a core of its own, and its progress thread, which
 * shares rank 0's core with the caller, answers; caller and thread sleep when
 * there is nothing to do. Cost: a thread takes time of the program's core even
 * without calls; after a second without messages it polls as seldom as it ever
 * does. */
#include <stdint.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/raw/calls.h"

enum {
    CALLS = 300,
    CALLS_NOT_POLLABLE = 40, /* each may last as long as a nap, 5 ms */
    WARM = 20,
    SLICE_US = 1000,
    IDLE_US = 1000000,
    IDLE_QUICK_US = 250000,
    IDLE_SMOKE_US = 10000,
    UNITS = 300,
    UNIT_STEPS = 1 << 18,  /* of work: about half a millisecond */
    SHORT_STEPS = 1 << 12, /* between two clock reads */
    WORDS = 2048, /* 16 KiB: half of a first level cache, so that a thread that
                   * evicts it shows */
};

/* Work of a program: each step depends on the one before, and on a word that
 * the one before chose. */
static void work(unsigned steps)
{
    static volatile uint64_t result; /* so that the compiler keeps the work */
    static uint64_t words[WORDS];
    uint64_t state = result;

    for (unsigned i = 0; i < steps; i++) {
        uint64_t *word = &words[state >> 53];

        /* Knuth's MMIX generator. */
        state = state * 6364136223846793005u + 1442695040888963407u + *word;
        *word = state >> 32;
    }
    result = state;
}

static void unit_once(struct pair *pair, void *arg)
{
    (void)pair;
    (void)arg;
    work(UNIT_STEPS);
}

/* Rank 1 computes until all calls have come. */
static double computing_batch(struct pair *pair, struct duel *duel)
{
    while (pair->rank == 1 && !pair_is_stopped(pair)) {
        double end_us = clock_now_us() + SLICE_US;

        while (clock_now_us() < end_us)
            work(SHORT_STEPS);
    }
    return calls_latency(pair, duel);
}

/* A batch with or without a progress thread on the core of the program. One
 * call goes first; after a quiet time both ranks work. */
static double beside_batch(struct pair *pair, struct duel *duel)
{
    double elapsed_us = 0.0;

    if (*(const bool *)duel->arg)
        pair_by_thread(pair, AMALGAM_WAIT_AUTO, pin_core());
    else
        pair_by_caller(pair, AMALGAM_WAIT_AUTO);
    pair_enter(pair);
    pair_greet(pair);
    pause_us(
        options_pick(pair->options, IDLE_US, IDLE_QUICK_US, IDLE_SMOKE_US));
    elapsed_us = duel_each(pair, duel, unit_once, NULL);
    pair_leave(pair);
    return elapsed_us;
}

void bench_overlap(struct pair *pair)
{
    struct pair both;
    bool has_thread[] = {true, false};
    int core = pair->is_one_machine ? pin_core() : -1;
    /* Over MPI a sleeping rank polls at intervals. */
    bool is_pollable = strcmp(pair->via, "mpi") != 0;
    struct duel computing = {"rpc_computing", "asleep",
        "the same call while rank 1 sleeps on a semaphore, and does "
        "not compute",
        .calls = is_pollable ? CALLS : CALLS_NOT_POLLABLE, .warm = WARM,
        .figure = DUEL_US, .is_open = true, .ours = {computing_batch},
        .control = {calls_latency}};
    struct duel beside = {"compute", "no thread",
        "the same work on the same core, by a rank without a progress "
        "thread: progress in the caller",
        .calls = UNITS, .figure = DUEL_MEAN_US,
        .ours = {beside_batch, &has_thread[0]},
        .control = {beside_batch, &has_thread[1]}};

    if (!pair_is_of_two(pair, NULL))
        return;
    pair_open_like(&both, pair, 0, PAIR_WAIT_MS);
    /* Rank 1's progress thread gets the core of rank 0's caller. */
    MPI_Bcast(&core, 1, MPI_INT, 0, pair->comm);
    if (pair->rank == 0)
        pair_by_caller(&both, AMALGAM_WAIT_SLEEP);
    else
        pair_by_thread(&both, AMALGAM_WAIT_SLEEP, core);
    duel_run(&both, &computing);
    duel_run(&both, &beside);
    pair_close(&both);
}
