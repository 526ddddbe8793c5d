/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads of each rank, each with a context and a communicator of its
 * own. */
#include "jobs/bench/calls/crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/fabric/fabric.h"

/* Cores of two ranks of one machine: those that both may use, they share. */
static void cores_share(struct crew *crew, cpu_set_t *set)
{
    const struct pair *pair = &crew->pair;
    cpu_set_t sets[2];
    cpu_set_t both;

    MPI_Allgather(
        set, sizeof(*set), MPI_BYTE, sets, sizeof(*set), MPI_BYTE, pair->comm);
    CPU_AND(&both, &sets[0], &sets[1]);
    if (!pair->is_one_machine || CPU_COUNT(&both) == 0)
        return;
    for (int core = 0, i = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &both) && i++ % 2 != pair->rank)
            CPU_CLR((unsigned)core, set);
}

void crew_init(struct crew *crew, const struct pair *like)
{
    struct pair *pair = &crew->pair;
    cpu_set_t set;

    pair_copy(like, pair);
    /* The same transport, and so the same way. */
    memcpy(pair->via, like->via, sizeof(pair->via));
    pin_lift(like->pin, &crew->pin);
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    cores_share(crew, &set);
    crew->core_count = 0;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &set) && crew->core_count < OPTIONS_THREADS_MAX)
            crew->cores[crew->core_count++] = core;
    MPI_Allreduce(
        MPI_IN_PLACE, &crew->core_count, 1, MPI_UNSIGNED, MPI_MIN, pair->comm);
}

void crew_open(struct crew *crew, unsigned count)
{
    struct pair *pair = &crew->pair;

    pair->contexts = count;
    if (!pair_open(pair, pair->comm, pair->options->transport))
        pair_fail(pair, "no class of %u contexts", count);
    crew->count = count;
    crew->members = calloc(count, sizeof(*crew->members));
    if (crew->members == NULL)
        pair_fail(pair, "no memory for %u threads", count);
    for (unsigned i = 0; i < count; i++) {
        crew->members[i].pair = *pair;
        crew->members[i].pair.context_id = (uint8_t)i;
        MPI_Comm_dup(pair->comm, &crew->members[i].pair.comm);
    }
    crew_set(crew, count);
}

void crew_close(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        struct pair *pair = &crew->members[i].pair;

        fabric_close(pair->fabric);
        MPI_Comm_free(&pair->comm);
    }
    free(crew->members);
    pair_close(&crew->pair);
    pin_restore(&crew->pin);
}

void crew_set(struct crew *crew, unsigned at_work)
{
    struct pair *pair = &crew->pair;

    crew->at_work = at_work;
    pair->is_crowded = at_work > crew->core_count;
    snprintf(pair->cores, sizeof(pair->cores), "%s",
        pair->is_crowded ? "shared" : "pinned");
    for (unsigned i = 0; i < at_work; i++) {
        crew->members[i].pair.is_crowded = pair->is_crowded;
        crew->members[i].core = pair->is_crowded ? -1 : crew->cores[i];
    }
}

void crew_enter(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        struct pair *pair = &crew->members[i].pair;

        pair->context = HG_Context_create_id(pair->cls, pair->context_id);
        if (pair->context == NULL)
            pair_fail(pair, "HG_Context_create_id() gave none for id %u", i);
        pair_check(pair, HG_Context_set_data(pair->context, pair, NULL),
            "HG_Context_set_data");
    }
    pair_barrier(&crew->pair);
}

void crew_leave(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        struct pair *pair = &crew->members[i].pair;

        pair_check(
            pair, HG_Context_destroy(pair->context), "HG_Context_destroy");
        pair->context = NULL;
    }
    pair_barrier(&crew->pair);
}

/* A thread's part of a batch. */
static void *member_main(void *arg)
{
    struct crew_member *member = arg;
    cpu_set_t core;

    CPU_ZERO(&core);
    if (member->core >= 0) {
        CPU_SET((unsigned)member->core, &core);
        sched_setaffinity(0, sizeof(core), &core);
    }
    pthread_barrier_wait(member->start);
    member->elapsed_us =
        member->batch(&member->pair, &member->duel, member->samples);
    return NULL;
}

/* From the start of the first to the end of the last. */
static double crew_elapsed_us(const struct crew *crew)
{
    double start_us = 0.0;
    double end_us = 0.0;

    for (unsigned i = 0; i < crew->at_work; i++) {
        const struct crew_member *member = &crew->members[i];
        double began_us = member->duel.ended_us - member->elapsed_us;

        if (i == 0 || began_us < start_us)
            start_us = began_us;
        if (member->duel.ended_us > end_us)
            end_us = member->duel.ended_us;
    }
    return end_us - start_us;
}

double crew_batch(struct crew *crew, const struct duel *duel,
    duel_batch_fn batch, double *ret_samples)
{
    const struct pair *pair = &crew->pair;
    unsigned count = crew->at_work;
    pthread_barrier_t start;
    unsigned done = 0;

    pthread_barrier_init(&start, NULL, count);
    for (unsigned i = 0; i < count; i++) {
        struct crew_member *member = &crew->members[i];

        member->duel = *duel;
        member->duel.calls = (duel->calls - done) / (count - i);
        member->batch = batch;
        member->samples = ret_samples + done;
        member->start = &start;
        done += member->duel.calls;
        if (pthread_create(&member->thread, NULL, member_main, member) != 0)
            pair_fail(pair, "cannot start thread %u of %u", i + 1, count);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_barrier_destroy(&start);
    return pair->rank == 0 ? crew_elapsed_us(crew) : 0.0;
}
