/* SPDX-License-Identifier: BSD-3-Clause */
/* What the same two ranks reach with plain MPI calls.
 *
 * They go over a communicator that the library leaves alone. Its class stays
 * open, but it has no context meanwhile: the receives that a context keeps
 * posted make MPI look through more of them for each message (with 32 of them
 * 8 bytes took 1.45 times as long, MPICH 4.0.2), and such a control would
 * flatter us. */
#include "jobs/bench/calls/control.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"

enum { BACK_LEN = 8, TAG = 1 };

/* One round trip, seen from either rank. */
static void pingpong_once(struct pair *pair, int len)
{
    unsigned char back[BACK_LEN] = {0};

    if (pair->rank == 0) {
        MPI_Send(pair->room, len, MPI_BYTE, 1, TAG, pair->comm);
        MPI_Recv(
            back, BACK_LEN, MPI_BYTE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(pair->landing, len, MPI_BYTE, 0, TAG, pair->comm,
            MPI_STATUS_IGNORE);
        MPI_Send(back, BACK_LEN, MPI_BYTE, 0, TAG, pair->comm);
    }
}

double control_pingpong(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    int len = duel->size == 0 ? BACK_LEN : (int)duel->size;
    unsigned warm = duel->calls < DUEL_WARM ? duel->calls : DUEL_WARM;
    double start_us = 0.0;
    double before_us = 0.0;

    pattern_fill(pair->room, (size_t)len, pair->seed);
    for (unsigned i = 0; i < warm; i++)
        pingpong_once(pair, len);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        pingpong_once(pair, len);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    if (pair->rank == 1)
        pair_verify(pair, pair->landing, (size_t)len, "the ping");
    return before_us - start_us;
}

void control_pingpong_plain(struct pair *pair, unsigned calls)
{
    for (unsigned i = 0; i < calls; i++)
        pingpong_once(pair, BACK_LEN);
}
