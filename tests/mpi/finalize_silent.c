/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_finalize() that returns HG_BUSY names the rank it waits for: one that
 * has not answered a call whose handle is still open. */
#include "ranks.h"

int main(void)
{
    struct ranks all;
    struct ranks_call call;
    ranks_echo_t in = {1, 0};
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* rank 1 makes no progress from here */
    if (all.rank == 0) {
        log = ranks_log_catch("warning");
        OK(ranks_begin(&all, &call, 1, all.echo, &in));
        EXPECT(HG_BUSY, amalgam_finalize(all.cls));
        CHECK(ranks_log_has(log, "rank 1 has not answered 1 requests"));
    }
    MPI_Barrier(MPI_COMM_WORLD); /* until here */
    if (all.rank == 0) {
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
