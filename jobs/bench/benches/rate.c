/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls per second with several in flight: null calls, and calls with two ints
 * there and back, by one thread of each rank; and null calls by several threads
 * of each rank, each with a context and a communicator of its own, to the
 * thread with the same number in the other rank. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "amalgam_trace.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/report.h"
#include "jobs/bench/raw/args.h"
#include "jobs/bench/raw/calls.h"
#include "jobs/bench/raw/fabric.h"

enum { STEP_QUICK = 8, THREADS_MIN = 2 };

static unsigned calls_of(unsigned window)
{
    return window * CALLS_PER_WINDOW < CALLS_RATE ? window * CALLS_PER_WINDOW
                                                  : CALLS_RATE;
}

static double traced_rate(struct pair *pair, struct duel *duel)
{
    return duel_traced(pair, duel, AMALGAM_TRACE_CALLS, calls_rate);
}

static void traced_run(struct pair *pair, unsigned window)
{
    struct duel duel = {"rpc_rate_traced", "untraced", "the same untraced",
        .window = window, .calls = calls_of(window), .warm = DUEL_WARM,
        .figure = DUEL_KPS, .ours = {traced_rate, .enters = true},
        .control = {calls_rate, .enters = true}};

    duel_run(pair, &duel);
}

static void window_run(struct pair *pair, unsigned window)
{
    bool is_fabric = fabric_is_way(pair);
    struct duel duel = {"rpc_rate", is_fabric ? "libfabric" : "mpi",
        is_fabric ? FABRIC_RATE_TEXT : MPI_RATE_TEXT, .window = window,
        .calls = calls_of(window), .warm = DUEL_WARM, .figure = DUEL_KPS,
        .ours = {calls_rate, .enters = true},
        .control = {is_fabric ? fabric_rate : mpi_rate}};

    duel_run(pair, &duel);
    if (window == 1 || window == OPTIONS_WINDOW_MAX)
        traced_run(pair, window);
}

/* Calls with two ints; the control has null calls. */
static void ints_run(struct pair *pair, unsigned window)
{
    bool is_fabric = fabric_is_way(pair);
    struct args args;
    struct duel duel = {"rpc_rate_ints", is_fabric ? "libfabric" : "mpi",
        is_fabric ? FABRIC_RATE_TEXT : MPI_RATE_TEXT, .size = ARGS_INTS_LEN,
        .window = window, .calls = calls_of(window), .warm = DUEL_WARM,
        .figure = DUEL_KPS, .ours = {args_rate, &args, .enters = true},
        .control = {is_fabric ? fabric_rate : mpi_rate}};

    args_open(pair, &args);
    duel_run(pair, &duel);
    args_close(pair, &args);
}

/* The cores that this rank has for itself; equally many at both ranks. */
struct cores {
    int list[OPTIONS_THREADS_MAX];
    unsigned count;
};

/* A thread that calls. */
struct member {
    struct pair pair; /* has its context, in a batch, and communicator */
    struct duel duel; /* its part of a batch */
    duel_batch_fn batch;
    double elapsed_us;
    int core; /* -1: not pinned */
    pthread_t thread;
    pthread_barrier_t *start;
};

/* The threads of this rank. */
struct crew {
    struct pair pair; /* its class has `count` contexts */
    unsigned count;
    struct member *members;
};

/* Finds the cores of this rank. Two ranks of one machine divide the cores that
 * both may use. */
static void cores_find(const struct pair *pair, struct cores *ret_cores)
{
    struct cores *cores = ret_cores;
    cpu_set_t set;
    cpu_set_t sets[2];
    cpu_set_t both;
    bool are_shared = false;

    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    MPI_Allgather(
        &set, sizeof(set), MPI_BYTE, sets, sizeof(set), MPI_BYTE, pair->comm);
    CPU_AND(&both, &sets[0], &sets[1]);
    are_shared = pair->is_one_machine && CPU_COUNT(&both) > 0;
    cores->count = 0;
    for (int core = 0, i = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &set) &&
            !(are_shared && CPU_ISSET(core, &both) && i++ % 2 != pair->rank) &&
            cores->count < OPTIONS_THREADS_MAX)
            cores->list[cores->count++] = core;
    MPI_Allreduce(
        MPI_IN_PLACE, &cores->count, 1, MPI_UNSIGNED, MPI_MIN, pair->comm);
}

/* If each thread has a core, it is pinned there; else a thread that has nothing
 * to do yields its core. */
static void crew_open(struct crew *crew, const struct pair *like,
    const struct cores *cores, unsigned count)
{
    bool has_cores = count <= cores->count;

    pair_open_like(&crew->pair, like, count, 0);
    crew->pair.is_oversubscribed = !has_cores;
    snprintf(crew->pair.cores, sizeof(crew->pair.cores), "%s",
        has_cores ? "pinned" : "shared");
    crew->count = count;
    crew->members = pair_alloc(like, count, sizeof(*crew->members));
    for (unsigned i = 0; i < count; i++) {
        struct pair *pair = &crew->members[i].pair;

        *pair = crew->pair;
        sem_init(&pair->stopped, 0, 0);
        pair->context_id = (uint8_t)i;
        MPI_Comm_dup(like->comm, &pair->comm);
        crew->members[i].core = has_cores ? cores->list[i] : -1;
        /* The threads themselves must not open the control. */
        if (fabric_is_way(pair))
            fabric_open(pair);
    }
}

static void crew_close(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        struct pair *pair = &crew->members[i].pair;

        fabric_close(pair->fabric);
        sem_destroy(&pair->stopped);
        MPI_Comm_free(&pair->comm);
    }
    free(crew->members);
    pair_close(&crew->pair);
}

/* A thread's part of a batch. */
static void *member_main(void *arg)
{
    struct member *member = arg;
    cpu_set_t core;

    CPU_ZERO(&core);
    if (member->core >= 0) {
        CPU_SET((unsigned)member->core, &core);
        sched_setaffinity(0, sizeof(core), &core);
    }
    pthread_barrier_wait(member->start);
    member->elapsed_us = member->batch(&member->pair, &member->duel);
    return NULL;
}

/* A batch by the threads of both ranks at once, each of which does its part.
 * The time runs from the first start to the last end of any thread. */
static double crew_batch(
    struct crew *crew, const struct duel *duel, duel_batch_fn batch)
{
    unsigned count = crew->count;
    pthread_barrier_t start;
    unsigned done = 0;
    double start_us = 0.0;
    double end_us = 0.0;

    pthread_barrier_init(&start, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        struct member *member = &crew->members[i];

        member->duel = *duel;
        member->duel.calls = (duel->calls - done) / (count - i);
        member->duel.samples = duel->samples + done;
        member->batch = batch;
        member->start = &start;
        done += member->duel.calls;
        if (pthread_create(&member->thread, NULL, member_main, member) != 0)
            pair_fail(
                &crew->pair, "cannot start thread %u of %u", i + 1, count);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct member *member = &crew->members[i];
        double began_us = 0.0;

        pthread_join(member->thread, NULL);
        began_us = member->duel.ended_us - member->elapsed_us;
        if (i == 0 || began_us < start_us)
            start_us = began_us;
        if (member->duel.ended_us > end_us)
            end_us = member->duel.ended_us;
    }
    pthread_barrier_destroy(&start);
    return end_us - start_us;
}

static double threads_batch(struct pair *pair, struct duel *duel)
{
    struct crew *crew = duel->arg;
    double elapsed_us = 0.0;

    for (unsigned i = 0; i < crew->count; i++) {
        struct pair *own = &crew->members[i].pair;

        own->context = HG_Context_create_id(own->cls, own->context_id);
        if (own->context == NULL)
            pair_fail(pair, "HG_Context_create_id() failed for id %u", i);
        CHECK(pair, HG_Context_set_data(own->context, own, NULL));
    }
    pair_barrier(pair);
    elapsed_us = crew_batch(crew, duel, calls_rate);
    for (unsigned i = 0; i < crew->count; i++)
        CHECK(pair, HG_Context_destroy(crew->members[i].pair.context));
    pair_barrier(pair);
    return elapsed_us;
}

static double control_batch(struct pair *pair, struct duel *duel)
{
    struct crew *crew = duel->arg;

    return crew_batch(crew, duel, fabric_is_way(pair) ? fabric_rate : mpi_rate);
}

static void threads_row(struct crew *crew, unsigned window)
{
    bool is_fabric = fabric_is_way(&crew->pair);
    struct duel duel = {"threads_rate", is_fabric ? "libfabric" : "mpi",
        is_fabric ? "the same by as many threads, each with an endpoint "
                    "of its own: " FABRIC_RATE_TEXT
                  : "the same by as many threads, each with a "
                    "communicator of its own: " MPI_RATE_TEXT,
        .window = window, .threads = crew->count, .calls = calls_of(window),
        .warm = DUEL_WARM, .figure = DUEL_KPS, .ours = {threads_batch, crew},
        .control = {control_batch, crew}};

    duel_run(&crew->pair, &duel);
}

static void threads_run(
    struct pair *pair, const struct cores *cores, unsigned threads)
{
    static const unsigned windows[] = {1, 8, OPTIONS_WINDOW_MAX};
    const struct options *options = pair->options;
    struct crew crew;

    crew_open(&crew, pair, cores, threads);
    if (options->window != 0)
        threads_row(&crew, options->window);
    for (unsigned i = 0; options->window == 0 && i < 3; i++)
        if (i != 1 || !(options->is_smoke || options->is_quick))
            threads_row(&crew, windows[i]);
    crew_close(&crew);
}

/* Rows of 1, 2, 4 ... threads, up to --threads or the number of cores, at least
 * 2. Meanwhile this thread is not pinned. */
static void all_threads_run(struct pair *pair)
{
    struct cores cores;
    struct pin pin;
    unsigned wanted = pair->options->threads;

    if (!pair_is_of_two(pair, "rate by threads"))
        return;
    pin_lift(pair->pin, &pin);
    cores_find(pair, &cores);
    if (wanted == 0)
        wanted = pair->options->is_smoke || cores.count < THREADS_MIN
                     ? THREADS_MIN
                     : cores.count;
    if (pair->rank == 0 && wanted > cores.count)
        report_warn("rows of %u threads measure shared cores: each rank "
                    "has %u of its own",
            wanted, cores.count);
    for (unsigned threads = 1; threads < wanted; threads *= 2)
        threads_run(pair, &cores, threads);
    threads_run(pair, &cores, wanted);
    pin_restore(&pin);
}

void bench_rate(struct pair *pair)
{
    const struct options *options = pair->options;

    if (options->window != 0)
        window_run(pair, options->window);
    for (unsigned window = 1;
         options->window == 0 && window <= OPTIONS_WINDOW_MAX;
         window *= options->is_quick ? STEP_QUICK : 2)
        window_run(pair, window);
    ints_run(pair, options->window != 0 ? options->window : OPTIONS_WINDOW_MAX);
    all_threads_run(pair);
}
