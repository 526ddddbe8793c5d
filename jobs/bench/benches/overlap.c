/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains and costs of a progress thread beside a rank that computes.
 *
 * It gives answers: rank 1 computes on a core of its own, and its progress
 * thread shares rank 0's core with the caller, both asleep when there is
 * nothing; or it shares that of the program. The work loses by the calls, and
 * by a thread that has none: that takes time of the core when it shares that of
 * the program. After a second without news it looks for some as seldom as it
 * ever will. */
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
    UNITS_SERVING = 50,
    TAG = 5,
    UNIT_STEPS = 1 << 18,  /* of work: about half a millisecond */
    SHORT_STEPS = 1 << 12, /* between two looks at the clock */
    WORDS = 2048, /* 16 KiB: half of a first level cache, so a thread that comes
                   * by is felt */
};

/* Work of a program: each step needs the one before, and a word that it leads
 * to. */
static void work(unsigned steps)
{
    static volatile uint64_t result; /* so that the work is not left out */
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

/* A call to a rank that computes: its time, or how many are answered. */
static void call_row(struct pair *pair, const char *op, enum duel_figure figure)
{
    /* Over MPI a sleeping rank finds out by looking now and then. */
    bool is_pollable = strcmp(pair->via, "mpi") != 0;
    struct duel duel = {op, "asleep",
        "the same call while rank 1 sleeps on a semaphore, and does "
        "not compute",
        .calls = is_pollable ? CALLS : CALLS_NOT_POLLABLE, .warm = WARM,
        .figure = figure, .is_open = true, .ours = {computing_batch},
        .control = {calls_latency}};

    duel_run(pair, &duel, NULL);
}

/* Rank 1's work; its times go to rank 0, which calls all the while, or sleeps.
 */
static double work_batch(struct pair *pair, struct duel *duel)
{
    bool is_called = *(const bool *)duel->arg;
    hg_handle_t handle = HG_HANDLE_NULL;
    double elapsed_us = 0.0;
    int is_told = 0;

    if (pair->rank == 1) {
        elapsed_us = duel_each(pair, duel, unit_once, NULL);
        MPI_Send(
            duel->samples, (int)duel->calls, MPI_DOUBLE, 0, TAG, pair->comm);
        MPI_Send(&elapsed_us, 1, MPI_DOUBLE, 0, TAG, pair->comm);
        if (is_called)
            pair_await_stop(pair);
        return 0.0;
    }
    if (is_called)
        handle = pair_handle(pair, pair->null_id);
    while (!is_told) {
        if (is_called)
            pair_call(pair, handle, NULL);
        else
            pause_us(SLICE_US);
        MPI_Iprobe(1, TAG, pair->comm, &is_told, MPI_STATUS_IGNORE);
    }
    if (is_called) {
        pair_handle_free(pair, handle);
        pair_stop(pair);
    }
    MPI_Recv(duel->samples, (int)duel->calls, MPI_DOUBLE, 1, TAG, pair->comm,
        MPI_STATUS_IGNORE);
    MPI_Recv(&elapsed_us, 1, MPI_DOUBLE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    return elapsed_us;
}

/* The time of rank 1's work while rank 0 calls, beside that while nobody does.
 */
static void serving_row(struct pair *pair, const char *op)
{
    bool are_calls[] = {true, false};
    struct duel duel = {op, "no calls",
        "the same work by the same rank, while nobody calls",
        .calls = UNITS_SERVING, .figure = DUEL_MEAN_US, .is_open = true,
        .ours = {work_batch, &are_calls[0]},
        .control = {work_batch, &are_calls[1]}};

    duel_run(pair, &duel, NULL);
}

/* Rank 1's progress thread is to run on that core of its own machine. */
static void target_by_thread(struct pair *pair, int core)
{
    if (pair->rank == 0)
        pair_by_caller(pair, AMALGAM_WAIT_SLEEP);
    else
        pair_by_thread(pair, AMALGAM_WAIT_SLEEP, core);
}

/* With a progress thread on the core of the program, or without. The peers know
 * each other, all is quiet for a while; then both work. */
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
    struct duel beside = {"compute", "no thread",
        "the same work on the same core, by a rank without a progress "
        "thread: progress in the caller",
        .calls = UNITS, .figure = DUEL_MEAN_US,
        .ours = {beside_batch, &has_thread[0]},
        .control = {beside_batch, &has_thread[1]}};

    if (!pair_is_of_two(pair, NULL))
        return;
    pair_open_like(&both, pair, 0, PAIR_WAIT_MS);
    /* The thread has the core on which rank 0's caller sits; then that of the
     * program, which has to make room for it. */
    MPI_Bcast(&core, 1, MPI_INT, 0, pair->comm);
    target_by_thread(&both, core);
    call_row(&both, "rpc_computing", DUEL_US);
    call_row(&both, "calls_apart", DUEL_KPS);
    serving_row(&both, "work_apart");
    target_by_thread(&both, pin_core());
    call_row(&both, "calls_shared", DUEL_KPS);
    serving_row(&both, "work_shared");
    duel_run(&both, &beside, NULL);
    pair_close(&both);
}
