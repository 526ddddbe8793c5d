/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that does not listen calls all others and accesses their memory; calls
 * and transfers to it are refused, and it ends with them. */
#include "ranks.h"

static struct ranks all;

static void deaf_call(int rank)
{
    ranks_echo_t in = {7, all.rank};
    struct ranks_call call;

    OK(ranks_begin(&all, &call, rank, all.echo, &in));
    EXPECT(HG_OPNOTSUPPORTED, ranks_wait(&call));
    ranks_end(&call);
}

int main(void)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    options.client_only = rank == 0;
    ranks_open_with(&all, MPI_COMM_WORLD, &options);
    ranks_meet(MPI_COMM_WORLD);
    if (rank != 0)
        deaf_call(0);
    for (int to = 1; rank == 0 && to < all.size; to++) {
        ranks_echo(&all, to, 3);
        ranks_swap(&all, to, 1 << 20);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
