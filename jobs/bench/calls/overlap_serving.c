/* SPDX-License-Identifier: BSD-3-Clause */
/* What the work of a rank loses by the calls that its progress thread answers
 * meanwhile.
 *
 * Rank 1 has the clock of its work, and tells rank 0. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pause.h"
#include "jobs/bench/base/work.h"
#include "jobs/bench/calls/overlap.h"

enum { UNITS = 50, LOOK_US = 1000, TAG = 5 };

#define QUIET_TEXT "the same work by the same rank, while nobody calls"

/* Rank 1's work, and its times for rank 0. */
static void work_and_tell(
    struct pair *pair, const struct duel *duel, double *samples)
{
    double start_us = clock_now_us();
    double before_us = start_us;
    double elapsed_us = 0.0;

    for (unsigned i = 0; i < duel->calls; i++) {
        work_unit();
        samples[i] = clock_lap_us(&before_us);
    }
    elapsed_us = before_us - start_us;
    MPI_Send(samples, (int)duel->calls, MPI_DOUBLE, 0, TAG, pair->comm);
    MPI_Send(&elapsed_us, 1, MPI_DOUBLE, 0, TAG, pair->comm);
}

/* Rank 0: has rank 1 worked it all off? */
static bool is_told(struct pair *pair)
{
    int is_here = 0;

    MPI_Iprobe(1, TAG, pair->comm, &is_here, MPI_STATUS_IGNORE);
    return is_here != 0;
}

static double told_take(
    struct pair *pair, const struct duel *duel, double *ret_samples)
{
    double elapsed_us = 0.0;

    MPI_Recv(ret_samples, (int)duel->calls, MPI_DOUBLE, 1, TAG, pair->comm,
        MPI_STATUS_IGNORE);
    MPI_Recv(&elapsed_us, 1, MPI_DOUBLE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    return elapsed_us;
}

/* Rank 1's work; rank 0 calls all the while. */
static double work_called_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct served *served = duel->more;
    hg_handle_t handle = HG_HANDLE_NULL;

    if (pair->rank == 1) {
        work_and_tell(pair, duel, ret_samples);
        served_wait(served);
        return 0.0;
    }
    handle = pair_handle(pair, served->null_id);
    do
        served_call(served, handle);
    while (!is_told(pair));
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    served_stop(served);
    return told_take(pair, duel, ret_samples);
}

/* Rank 1's work; rank 0 sleeps. */
static double work_quiet_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    if (pair->rank == 1) {
        work_and_tell(pair, duel, ret_samples);
        return 0.0;
    }
    while (!is_told(pair))
        pause_us(LOOK_US);
    return told_take(pair, duel, ret_samples);
}

void overlap_serving_row(struct served *served, const char *op)
{
    struct pair *pair = &served->pair;
    struct duel duel = {
        .ours = work_called_batch,
        .control = work_quiet_batch,
        .window = 1,
        .calls = pair->options->calls == 0 ? UNITS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_MEAN_US,
        .context = DUEL_CONTEXT_BOTH,
        .more = served,
    };
    struct row row = {
        .bench = "overlap",
        .op = op,
        .memory = "host",
        .against = "no calls",
        .control = QUIET_TEXT,
    };

    duel_run(pair, &duel, &row);
}
