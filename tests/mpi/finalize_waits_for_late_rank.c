/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks wait for one that computes for a second before it ends, without any
 * error. */
#include "ranks.h"

int main(void)
{
    struct ranks all;
    FILE *log = NULL;
    uint64_t until_ns = 0;
    volatile double x = 1;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    until_ns = ranks_now_ns() + 1000000000u;
    while (all.rank == all.size - 1 && ranks_now_ns() < until_ns)
        x = x * 1.000001;
    ranks_close(&all);
    CHECK(!ranks_log_has(log, "amalgam"));
    return ranks_stop();
}
