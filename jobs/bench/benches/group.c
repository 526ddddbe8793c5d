/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to all ranks whose answers are added up on the way back, and the wait
 * for the end of all calls where there are none, by the number of ranks.
 *
 * The first 2, 4, 8 ... of all ranks open a class; rank 0 calls, and all of
 * these ranks answer with a number. The control is the least that a program
 * does by MPI for such a call: all ranks wait for a broadcast, and then take
 * part in a sum. For the end of all calls it is a barrier, and sums of what
 * ranks have sent and received until two in a row are equal. */
#include "amalgam.h"
#include "amalgam_group.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

enum { QUIESCE_MS = 600000 }; /* --deadline ends the job earlier */

/* A call and its sum at rank 0; for the control, at all ranks. */
struct sum {
    hg_handle_t handle;
    double value;
};

static double own_of(const struct pair *part)
{
    return (double)part->seed + part->rank;
}

static hg_return_t sum_proc(hg_proc_t proc, void *data)
{
    return hg_proc_memcpy(proc, data, sizeof(double));
}

static void sum_add(const void *from, void *inout, void *arg)
{
    (void)arg;
    *(double *)inout += *(const double *)from;
}

static hg_return_t sum_serve(hg_handle_t handle)
{
    struct pair *part = pair_of(handle);
    double own = own_of(part);

    pair_count_served(part);
    CHECK(part, HG_Respond(handle, NULL, NULL, &own));
    return HG_Destroy(handle);
}

static void sum_once(struct pair *part, void *arg)
{
    struct sum *sum = arg;

    pair_call_all(part, sum->handle);
    CHECK(part, HG_Get_output(sum->handle, &sum->value));
    CHECK(part, HG_Free_output(sum->handle, &sum->value));
}

/* At rank 0: ends the job if the last sum is wrong. */
static void sum_verify(
    const struct pair *part, const struct duel *duel, double value)
{
    double wanted =
        duel->ranks * ((double)part->seed + (duel->ranks - 1) / 2.0);

    if (part->rank == 0 && value != wanted)
        pair_fail(part, "the sum is %f instead of %f", value, wanted);
}

static double sum_batch(struct pair *part, struct duel *duel)
{
    unsigned calls = duel_warm(duel) + duel->calls;
    struct sum sum = {.value = 0.0};
    double elapsed_us = 0.0;

    if (part->rank == 0) {
        sum.handle = pair_handle(part, *(const hg_id_t *)duel->arg);
        elapsed_us = duel_each(part, duel, sum_once, &sum);
        pair_handle_free(part, sum.handle);
    }
    while (part->served < calls)
        pair_turn(part);
    pair_barrier_serving(part);
    if (part->served != calls)
        pair_fail(part, "%llu calls came instead of %u",
            (unsigned long long)part->served, calls);
    sum_verify(part, duel, sum.value);
    return elapsed_us;
}

/* Ranks that share cores yield their core while they wait. */
static void mpi_once(struct pair *part, void *arg)
{
    struct sum *sum = arg;
    double own = own_of(part);
    uint64_t call = 0;
    MPI_Request request;

    if (!part->is_oversubscribed) {
        MPI_Bcast(&call, 1, MPI_UINT64_T, 0, part->comm);
        MPI_Reduce(&own, &sum->value, 1, MPI_DOUBLE, MPI_SUM, 0, part->comm);
        return;
    }
    MPI_Ibcast(&call, 1, MPI_UINT64_T, 0, part->comm, &request);
    pair_wait(part, &request);
    MPI_Ireduce(
        &own, &sum->value, 1, MPI_DOUBLE, MPI_SUM, 0, part->comm, &request);
    pair_wait(part, &request);
}

static double mpi_batch(struct pair *part, struct duel *duel)
{
    struct sum sum = {.value = 0.0};
    double elapsed_us = duel_each(part, duel, mpi_once, &sum);

    sum_verify(part, duel, sum.value);
    return elapsed_us;
}

static void quiesce_once(struct pair *part, void *arg)
{
    (void)arg;
    CHECK(part, amalgam_quiesce(part->cls, QUIESCE_MS));
}

static double quiesce_batch(struct pair *part, struct duel *duel)
{
    return duel_each(part, duel, quiesce_once, NULL);
}

static void mpi_quiesce_once(struct pair *part, void *arg)
{
    uint64_t counts[2] = {0, 0};
    uint64_t sums[2] = {0, 0};
    MPI_Request request;

    (void)arg;
    pair_barrier(part);
    for (unsigned i = 0; i < 2; i++) {
        MPI_Iallreduce(
            counts, sums, 2, MPI_UINT64_T, MPI_SUM, part->comm, &request);
        pair_wait(part, &request);
    }
}

static double mpi_quiesce_batch(struct pair *part, struct duel *duel)
{
    return duel_each(part, duel, mpi_quiesce_once, NULL);
}

static void part_run(struct pair *part, unsigned ranks, void *arg)
{
    const struct options *options = part->options;
    hg_id_t id = 0;
    struct duel sum = {"group_sum", "mpi",
        "MPI_Bcast and MPI_Reduce of 8 B; MPI_Ibcast and MPI_Ireduce, tested "
        "by ranks that yield, where ranks share cores",
        .size = sizeof(double), .ranks = ranks, .warm = DUEL_WARM,
        .calls = options->calls != 0 ? options->calls : CALLS_LATENCY,
        .figure = DUEL_US, .ours = {sum_batch, &id, .enters = true},
        .control = {mpi_batch}};
    struct duel quiesce = sum;

    quiesce.op = "quiesce";
    quiesce.text = "MPI_Ibarrier, and two MPI_Iallreduce of 16 B";
    quiesce.size = 0;
    quiesce.ours.run = quiesce_batch;
    quiesce.control.run = mpi_quiesce_batch;
    (void)arg;
    if (!pair_open_class(part, options->transport, true))
        pair_fail(part, "no class for %s", part->bench);
    pair_meet(part);
    id = HG_Register_name(part->cls, "bench sum", NULL, sum_proc, sum_serve);
    CHECK(part, amalgam_register_reduce(
                    part->cls, id, sum_add, NULL, sizeof(double), 0));
    duel_run(part, &sum);
    duel_run(part, &quiesce);
    pair_close(part);
}

void bench_group(struct pair *pair)
{
    unsigned all = (unsigned)pair->world->size;

    if (!team_is_possible(pair))
        return;
    for (unsigned ranks = 2; ranks <= all; ranks *= 2)
        team_part(pair, ranks, part_run, NULL);
}
