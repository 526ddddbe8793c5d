/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies that share a message leave with HG_Trigger(): their target makes no
 * progress after it, and waits in MPI until the origin has them. */
#include <string.h>

#include "ranks.h"

enum { BURST = 8 };

static struct ranks all;

static void origin(void)
{
    static struct ranks_call calls[BURST];
    char has_all = 1;

    for (uint64_t i = 0; i < BURST; i++) {
        ranks_echo_t in = {i, all.rank};

        OK(ranks_begin(&all, &calls[i], 0, all.echo, &in));
    }
    for (int i = 0; i < BURST; i++)
        OK(ranks_wait(&calls[i]));
    for (int i = 0; i < BURST; i++)
        ranks_end(&calls[i]);
    MPI_Send(&has_all, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static void target(void)
{
    char has_all = 0;

    while (atomic_load(&all.echoed) < BURST) {
        unsigned count = 0;

        (void)HG_Progress(all.context, 1);
        (void)HG_Trigger(all.context, 0, BURST, &count);
    }
    MPI_Recv(&has_all, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(has_all == 1);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        target();
    else
        origin();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
