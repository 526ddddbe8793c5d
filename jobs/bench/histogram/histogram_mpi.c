/* SPDX-License-Identifier: BSD-3-Clause */
/* The control of the histogram: the same messages by MPI_Isend, and receives
 * from any source that stay posted. */
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/frame/mpi_serve.h"
#include "jobs/bench/histogram/histogram.h"

/* Owned by the batch. */
struct histogram_mpi {
    struct mpi_serve serve;
    struct update in[MPI_SERVE_PLACES][HISTOGRAM_BATCH];
    struct update out[HISTOGRAM_MESSAGES][HISTOGRAM_BATCH];
};

_Static_assert((int)HISTOGRAM_MESSAGES <= (int)MPI_SERVE_WAITS,
    "each message under way is one of the requests");

static void place_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct histogram *histogram = arg;

    MPI_Irecv(histogram->mpi->in[place],
        (int)(histogram->batch * sizeof(struct update)), MPI_BYTE,
        MPI_ANY_SOURCE, MPI_SERVE_TAG, histogram->team->comm, ret_request);
}

static void place_handle(void *arg, unsigned place, const MPI_Status *status,
    MPI_Request *ret_answer)
{
    struct histogram *histogram = arg;
    int len = 0;

    (void)ret_answer;
    MPI_Get_count(status, MPI_BYTE, &len);
    histogram_add(histogram, histogram->mpi->in[place],
        (unsigned)len / sizeof(struct update));
}

static void message_left(void *arg, unsigned wait)
{
    struct histogram *histogram = arg;

    histogram->free[histogram->free_count++] = &histogram->places[wait];
}

static const struct mpi_serve_ops serve_ops = {
    .receive = place_receive,
    .handle = place_handle,
    .ended = message_left,
};

static void message_send(struct histogram *histogram, int rank,
    const struct histogram_message *message)
{
    struct histogram_mpi *mpi = histogram->mpi;
    size_t len = message->count * sizeof(struct update);
    ptrdiff_t place =
        histogram->free[--histogram->free_count] - histogram->places;

    memcpy(mpi->out[place], message->list, len);
    MPI_Isend(mpi->out[place], (int)len, MPI_BYTE, rank, MPI_SERVE_TAG,
        histogram->team->comm, &mpi->serve.requests[place]);
}

static bool messages_turn(struct histogram *histogram)
{
    return mpi_serve_turn(&histogram->mpi->serve);
}

static void messages_begin(struct histogram *histogram)
{
    struct histogram_mpi *mpi = calloc(1, sizeof(*mpi));

    if (mpi == NULL)
        pair_fail(histogram->team, "no memory for the control");
    histogram->mpi = mpi;
    mpi->serve.team = histogram->team;
    mpi->serve.ops = &serve_ops;
    mpi->serve.arg = histogram;
    mpi->serve.waits = HISTOGRAM_MESSAGES;
    mpi->serve.places = mpi_serve_places(histogram->team, HISTOGRAM_MESSAGES);
    mpi_serve_open(&mpi->serve);
    mpi_serve_meet(&mpi->serve);
}

static void messages_end(struct histogram *histogram)
{
    mpi_serve_close(&histogram->mpi->serve);
    free(histogram->mpi);
    histogram->mpi = NULL;
}

static const struct histogram_port port = {
    .send = message_send,
    .turn = messages_turn,
};

static void messages_run(struct histogram *histogram)
{
    histogram_stream(histogram, &port);
}

const struct histogram_way histogram_way_mpi = {
    .begin = messages_begin,
    .end = messages_end,
    .run = messages_run,
};
