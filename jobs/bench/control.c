/* SPDX-License-Identifier: BSD-3-Clause */
/* What the same two ranks reach with plain MPI calls.
 *
 * They go over MPI_COMM_WORLD, which the library leaves alone. Its class stays
 * open, but it has no context meanwhile: the receives that a context keeps
 * posted make MPI look through more of them for each message (with 32 of them
 * 8 bytes took 1.45 times as long, MPICH 4.0.2), and such a control would
 * flatter us. */
#include "control.h"

#include <mpi.h>

enum { BACK_LEN = 8, TAG = 1, WINDOW_MAX = 64 };

/* One round trip, seen from either rank. */
static void pingpong_once(struct pair *pair, int len)
{
    unsigned char back[BACK_LEN] = {0};

    if (pair->rank == 0) {
        MPI_Send(pair->room, len, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(back, BACK_LEN, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(pair->room, len, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
        MPI_Send(back, BACK_LEN, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

double control_pingpong(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    int len = duel->size == 0 ? BACK_LEN : (int)duel->size;
    double start_us = 0.0;
    double before_us = 0.0;

    for (unsigned i = 0; i < DUEL_WARM; i++)
        pingpong_once(pair, len);
    start_us = before_us = duel_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        double now_us = 0.0;

        pingpong_once(pair, len);
        now_us = duel_now_us();
        ret_samples[i] = now_us - before_us;
        before_us = now_us;
    }
    return before_us - start_us;
}

void control_pingpong_plain(struct pair *pair, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++)
        pingpong_once(pair, BACK_LEN);
}

/* Rank 0 says that its clock runs. */
static void stream_start(const struct pair *pair)
{
    unsigned char go = 0;

    if (pair->rank == 0)
        MPI_Send(&go, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(&go, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Message `i` of the stream starts, at the place of its turn in the window. */
static void stream_post(
    struct pair *pair, const struct duel *duel, unsigned i, MPI_Request *ret)
{
    unsigned char *place = pair->room + (size_t)(i % duel->window) * duel->size;

    if (pair->rank == 0)
        MPI_Irecv(
            place, (int)duel->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, ret);
    else
        MPI_Isend(
            place, (int)duel->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, ret);
}

/* Window 1, and so with blocking calls. */
static void stream_once(struct pair *pair, const struct duel *duel)
{
    if (pair->rank == 0)
        MPI_Recv(pair->room, (int)duel->size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
    else
        MPI_Send(pair->room, (int)duel->size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

double control_stream(struct pair *pair, struct duel *duel, double *ret_samples)
{
    MPI_Request requests[WINDOW_MAX];
    double posted_us[WINDOW_MAX];
    double start_us = duel_now_us();
    double now_us = start_us;
    unsigned window = duel->window < WINDOW_MAX ? duel->window : WINDOW_MAX;

    stream_start(pair);
    for (unsigned i = 0; window > 1 && i < window && i < duel->calls; i++) {
        stream_post(pair, duel, i, &requests[i]);
        posted_us[i] = now_us;
    }
    for (unsigned i = 0; i < duel->calls; i++) {
        unsigned turn = i % window;
        double before_us = now_us;

        if (window == 1)
            stream_once(pair, duel);
        else
            MPI_Wait(&requests[turn], MPI_STATUS_IGNORE);
        now_us = duel_now_us();
        ret_samples[i] = now_us - (window == 1 ? before_us : posted_us[turn]);
        if (window > 1 && i + window < duel->calls) {
            stream_post(pair, duel, i + window, &requests[turn]);
            posted_us[turn] = now_us;
        }
    }
    return now_us - start_us;
}
