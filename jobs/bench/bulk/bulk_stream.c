/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data by messages of MPI. */
#include "jobs/bench/bulk/bulk_stream.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/bulk/bulk_move.h"

enum { TAG = 4 };

/* Of the two ranks, in a stream. */
static bool is_sender(const struct pair *pair, const struct bulk *bulk)
{
    return bulk->is_push == (pair->rank == 0);
}

/* Rank 0 says that its clock runs. */
static void stream_start(const struct pair *pair)
{
    unsigned char go = 0;

    if (pair->rank == 0)
        MPI_Send(&go, 1, MPI_BYTE, 1, TAG, pair->comm);
    else
        MPI_Recv(&go, 1, MPI_BYTE, 0, TAG, pair->comm, MPI_STATUS_IGNORE);
}

/* Rank 1's end of the stream is the same also where it is no target. */
static unsigned char *stream_end(
    const struct pair *pair, const struct bulk *bulk)
{
    return pair->rank == 0 ? pair->room : bulk->end;
}

/* Message `i` of the stream starts, at the place of its turn in the window. */
static void stream_post(
    struct pair *pair, const struct duel *duel, unsigned i, MPI_Request *ret)
{
    unsigned char *place =
        stream_end(pair, duel->more) + (size_t)(i % duel->window) * duel->size;
    int other = 1 - pair->rank;

    if (is_sender(pair, duel->more))
        MPI_Isend(
            place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm, ret);
    else
        MPI_Irecv(
            place, (int)duel->size, MPI_BYTE, other, TAG, pair->comm, ret);
}

/* Window 1, and so with blocking calls. */
static void stream_once(struct pair *pair, const struct duel *duel)
{
    int other = 1 - pair->rank;

    if (is_sender(pair, duel->more))
        MPI_Send(stream_end(pair, duel->more), (int)duel->size, MPI_BYTE, other,
            TAG, pair->comm);
    else
        MPI_Recv(stream_end(pair, duel->more), (int)duel->size, MPI_BYTE, other,
            TAG, pair->comm, MPI_STATUS_IGNORE);
}

/* A push is over when the bytes are there: the last message says so. */
static void stream_end_wait(const struct pair *pair, const struct bulk *bulk)
{
    unsigned char done = 0;

    if (!bulk->is_push)
        return;
    if (pair->rank == 1)
        MPI_Send(&done, 1, MPI_BYTE, 0, TAG, pair->comm);
    else
        MPI_Recv(&done, 1, MPI_BYTE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
}

static double stream_run(
    struct pair *pair, const struct duel *duel, unsigned calls, double *samples)
{
    MPI_Request requests[OPTIONS_WINDOW_MAX];
    double posted_us[OPTIONS_WINDOW_MAX];
    double start_us = clock_now_us();
    double now_us = start_us;
    unsigned window = duel->window;

    stream_start(pair);
    for (unsigned i = 0; window > 1 && i < window && i < calls; i++) {
        stream_post(pair, duel, i, &requests[i]);
        posted_us[i] = now_us;
    }
    for (unsigned i = 0; i < calls; i++) {
        unsigned turn = i % window;
        double before_us = now_us;

        if (window == 1)
            stream_once(pair, duel);
        else
            MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = clock_now_us();
        samples[i] = now_us - (window == 1 ? before_us : posted_us[turn]);
        if (window > 1 && i + window < calls) {
            stream_post(pair, duel, i + window, &requests[turn]);
            posted_us[turn] = now_us;
        }
    }
    stream_end_wait(pair, duel->more);
    return clock_now_us() - start_us;
}

double bulk_stream(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    unsigned char *end = stream_end(pair, bulk);
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;
    double elapsed_us = 0.0;

    if (is_sender(pair, bulk))
        pattern_fill(end, duel->window * duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    stream_run(pair, duel, bulk_warm(duel), ret_samples);
    elapsed_us = stream_run(pair, duel, duel->calls, ret_samples);
    if (!is_sender(pair, bulk))
        pair_verify(pair, end, used * duel->size, "the stream");
    return elapsed_us;
}

/* One round trip, seen from either rank. */
static void round_once(struct pair *pair, const struct duel *duel)
{
    unsigned char *end = stream_end(pair, duel->more);
    int len = (int)duel->size;

    if (pair->rank == 0) {
        MPI_Send(end, len, MPI_BYTE, 1, TAG, pair->comm);
        MPI_Recv(end, len, MPI_BYTE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(end, len, MPI_BYTE, 0, TAG, pair->comm, MPI_STATUS_IGNORE);
        MPI_Send(end, len, MPI_BYTE, 0, TAG, pair->comm);
    }
}

double bulk_round(struct pair *pair, struct duel *duel, double *ret_samples)
{
    unsigned char *end = stream_end(pair, duel->more);
    double start_us = 0.0;
    double before_us = 0.0;

    if (pair->rank == 0)
        pattern_fill(end, duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    for (unsigned i = 0; i < bulk_warm(duel); i++)
        round_once(pair, duel);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        round_once(pair, duel);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    pair_verify(pair, end, duel->size, "the round trip");
    return before_us - start_us;
}
