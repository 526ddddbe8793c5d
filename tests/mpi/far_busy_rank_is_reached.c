/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on other nodes reach each other however long one of them computes
 * before it serves for the first time, or before it waits for its first call:
 * longer than AMALGAM_CONNECT_TIMEOUT_MS, which is 2000. */
#include <time.h>

#include "ranks.h"

enum { BUSY_MS = 3500 };

static struct ranks all;

static bool is_over(uint64_t start_ns)
{
    return ranks_now_ns() - start_ns >= BUSY_MS * 1000000ull;
}

/* Rank 0 calls, and rank 1 makes no progress until it is told to. */
static void target_is_busy(void)
{
    uint64_t start_ns = ranks_now_ns();
    ranks_echo_t in = {5, all.rank};
    struct ranks_call call;

    if (all.rank != 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    OK(ranks_begin(&all, &call, 1, all.echo, &in));
    while (!is_over(start_ns))
        ranks_turn();
    CHECK(atomic_load(&call.done) == 0);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    OK(ranks_wait(&call));
    ranks_end(&call);
}

/* Rank 0 calls, and then computes; rank 1 serves. */
static void origin_is_busy(void)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    uint64_t start_ns = ranks_now_ns();
    ranks_echo_t in = {6, all.rank};
    struct ranks_call call;

    if (all.rank != 0)
        return;
    OK(ranks_begin(&all, &call, 1, all.echo, &in));
    while (!is_over(start_ns))
        nanosleep(&nap, NULL);
    OK(ranks_wait(&call));
    ranks_end(&call);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size == 2);
    target_is_busy();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    ranks_open(&all, MPI_COMM_WORLD);
    origin_is_busy();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
