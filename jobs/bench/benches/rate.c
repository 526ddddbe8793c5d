/* SPDX-License-Identifier: BSD-3-Clause */
/* Null calls a second with several in flight: by one thread of each rank; and
 * by several, each with a context and a communicator of its own, which calls
 * its neighbour of the same number in the other rank. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/report.h"
#include "jobs/bench/raw/calls.h"
#include "jobs/bench/raw/fabric.h"

enum { STEP_QUICK = 8, THREADS_MIN = 2 };

static unsigned calls_of(unsigned window)
{
    return window * CALLS_PER_WINDOW < CALLS_RATE ? window * CALLS_PER_WINDOW
                                                  : CALLS_RATE;
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
}

struct member {
    struct pair pair; /* its context, while there is one, and communicator */
    struct duel duel; /* its part of a batch */
    duel_batch_fn batch;
    double elapsed_us;
    int core; /* -1: wherever it may */
    pthread_t thread;
    pthread_barrier_t *start;
};

/* The threads of this rank. */
struct crew {
    struct pair pair; /* its class has as many contexts */
    unsigned count;
    unsigned at_work; /* so many of them run batches */
    struct member *members;
    int cores[OPTIONS_THREADS_MAX]; /* that this rank has for itself */
    unsigned core_count;            /* the same in both ranks */
    struct pin pin;                 /* where this thread was */
};

/* Finds the cores of this rank. Those that both ranks of one machine may use
 * they share. This thread may run on all of them until crew_close(). */
static void cores_find(struct crew *crew, const struct pair *pair)
{
    cpu_set_t set;
    cpu_set_t sets[2];
    cpu_set_t both;
    bool are_shared = false;

    pin_lift(pair->pin, &crew->pin);
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    MPI_Allgather(
        &set, sizeof(set), MPI_BYTE, sets, sizeof(set), MPI_BYTE, pair->comm);
    CPU_AND(&both, &sets[0], &sets[1]);
    are_shared = pair->is_one_machine && CPU_COUNT(&both) > 0;
    crew->core_count = 0;
    for (int core = 0, i = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &set) &&
            !(are_shared && CPU_ISSET(core, &both) && i++ % 2 != pair->rank) &&
            crew->core_count < OPTIONS_THREADS_MAX)
            crew->cores[crew->core_count++] = core;
    MPI_Allreduce(
        MPI_IN_PLACE, &crew->core_count, 1, MPI_UNSIGNED, MPI_MIN, pair->comm);
}

static void crew_open(
    struct crew *crew, const struct pair *like, unsigned count)
{
    pair_open_like(&crew->pair, like, count, 0);
    crew->count = count;
    crew->members = pair_alloc(like, count, sizeof(*crew->members));
    for (unsigned i = 0; i < count; i++) {
        struct pair *pair = &crew->members[i].pair;

        *pair = crew->pair;
        sem_init(&pair->stopped, 0, 0);
        pair->context_id = (uint8_t)i;
        MPI_Comm_dup(like->comm, &pair->comm);
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
    pin_restore(&crew->pin);
}

/* Sets the number of members that run batches from now on. If each has a core,
 * it is pinned there; else a member that has nothing to do gives its core away.
 */
static void crew_set(struct crew *crew, unsigned at_work)
{
    struct pair *pair = &crew->pair;

    crew->at_work = at_work;
    pair->is_oversubscribed = at_work > crew->core_count;
    snprintf(pair->cores, sizeof(pair->cores), "%s",
        pair->is_oversubscribed ? "shared" : "pinned");
    for (unsigned i = 0; i < at_work; i++) {
        crew->members[i].pair.is_oversubscribed = pair->is_oversubscribed;
        crew->members[i].core = pair->is_oversubscribed ? -1 : crew->cores[i];
    }
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

/* A batch by the members at work of both ranks at once, each of which does its
 * part. The time is that from the start of the first to the end of the last. */
static double crew_batch(
    struct crew *crew, const struct duel *duel, duel_batch_fn batch)
{
    unsigned count = crew->at_work;
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
            pair_fail(pair, "HG_Context_create_id() gave none for id %u", i);
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

    /* Its threads may not open it. */
    for (unsigned i = 0; fabric_is_way(pair) && i < crew->at_work; i++)
        if (crew->members[i].pair.fabric == NULL &&
            !fabric_open(&crew->members[i].pair, NULL))
            pair_fail(pair, "no endpoint for thread %u", i);
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
        .window = window, .threads = crew->at_work, .calls = calls_of(window),
        .warm = DUEL_WARM, .figure = DUEL_KPS, .ours = {threads_batch, crew},
        .control = {control_batch, crew}};

    duel_run(&crew->pair, &duel);
}

static void threads_run(struct crew *crew, unsigned threads)
{
    static const unsigned windows[] = {1, 8, OPTIONS_WINDOW_MAX};
    const struct options *options = crew->pair.options;

    crew_set(crew, threads);
    if (options->window != 0)
        threads_row(crew, options->window);
    for (unsigned i = 0; options->window == 0 && i < 3; i++)
        if (i != 1 || !(options->is_smoke || options->is_quick))
            threads_row(crew, windows[i]);
}

/* As many threads as were asked for, or as have a core; but at least two. */
static void crew_run(struct pair *pair)
{
    struct crew crew;
    unsigned wanted = pair->options->threads;

    if (!pair_is_of_two(pair, "rate by threads"))
        return;
    cores_find(&crew, pair);
    if (wanted == 0)
        wanted = pair->options->is_smoke || crew.core_count < THREADS_MIN
                     ? THREADS_MIN
                     : crew.core_count;
    crew_open(&crew, pair, wanted);
    if (pair->rank == 0 && wanted > crew.core_count)
        report_warn("rows of %u threads tell of shared cores: each rank has "
                    "%u of its own",
            wanted, crew.core_count);
    for (unsigned threads = 1; threads < wanted; threads *= 2)
        threads_run(&crew, threads);
    threads_run(&crew, wanted);
    crew_close(&crew);
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
    crew_run(pair);
}
