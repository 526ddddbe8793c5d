/* SPDX-License-Identifier: BSD-3-Clause */
/* The histogram by MPI_Accumulate: an operation for each update, and a flush
 * now and then: MPICH 4.0.2 gets slower the more operations wait for one (1.0
 * M/s of 5,000, 0.03 M/s of 64,000, two ranks of one machine).
 *
 * MPI has none for many random places at once but by a datatype made for them,
 * so updates do not go in batches. */
#include <string.h>

#include "jobs/bench/histogram/histogram.h"

enum { FLUSH_EACH = 1024 };

void histogram_window_open(struct histogram *histogram)
{
    MPI_Info info = MPI_INFO_NULL;

    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Win_allocate(HISTOGRAM_BINS * sizeof(uint64_t), sizeof(uint64_t), info,
        histogram->team->comm, &histogram->win_bins, &histogram->win);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, histogram->win);
}

void histogram_window_close(struct histogram *histogram)
{
    MPI_Win_unlock_all(histogram->win);
    MPI_Win_free(&histogram->win);
}

static void window_begin(struct histogram *histogram)
{
    memset(histogram->win_bins, 0, HISTOGRAM_BINS * sizeof(uint64_t));
    MPI_Win_sync(histogram->win);
    pair_barrier(histogram->team);
}

static void window_end(struct histogram *histogram)
{
    MPI_Win_sync(histogram->win);
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
        histogram->bins[i] = histogram->win_bins[i];
}

static void window_run(struct histogram *histogram)
{
    /* Stays as it is while operations are under way. */
    static uint64_t weights[HISTOGRAM_WEIGHTS + 1];

    for (unsigned i = 0; i <= HISTOGRAM_WEIGHTS; i++)
        weights[i] = i;
    while (histogram->next < histogram->last) {
        int rank = 0;
        struct update update = histogram_update(histogram, histogram->first,
            histogram->team->rank, histogram->next++, &rank);

        MPI_Accumulate(&weights[update.weight], 1, MPI_UINT64_T, rank,
            (MPI_Aint)update.bin, 1, MPI_UINT64_T, MPI_SUM, histogram->win);
        if (histogram->next % FLUSH_EACH == 0)
            MPI_Win_flush_all(histogram->win);
    }
    MPI_Win_flush_all(histogram->win);
    pair_barrier(histogram->team);
}

const struct histogram_way histogram_way_window = {
    .begin = window_begin,
    .end = window_end,
    .run = window_run,
};
