/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances wait for one whose rank computes for a second before it ends,
 * without any error. */
#include "margo_ranks.h"

int main(void)
{
    struct mranks all;
    FILE *log = NULL;
    uint64_t until_ns = 0;
    volatile double x = 1;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    mranks_open(&all, NULL);
    mranks_echo(&all, (all.rank + 1) % all.size, 1);
    until_ns = ranks_now_ns() + 1000000000u;
    while (all.rank == all.size - 1 && ranks_now_ns() < until_ns)
        x = x * 1.000001;
    mranks_close(&all);
    CHECK(!ranks_log_has(log, "amalgam"));
    return ranks_stop();
}
