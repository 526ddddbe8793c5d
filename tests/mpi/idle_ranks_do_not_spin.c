/* SPDX-License-Identifier: BSD-3-Clause */
/* More ranks than cores do not spin while they are idle. */
#include <sys/resource.h>

#include "ranks.h"

enum { IDLE_S = 1, WAIT_MS = 100, PERCENT_MAX = 30 };

static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(void)
{
    struct ranks all;
    uint64_t begin_ns = 0;
    double percent = 0;
    double wall_s = 0;
    double used_s = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    begin_ns = ranks_now_ns();
    used_s = cpu_s();
    while (ranks_now_ns() - begin_ns < IDLE_S * 1000000000ull) {
        unsigned count = 0;

        (void)HG_Progress(all.context, WAIT_MS);
        (void)HG_Trigger(all.context, 0, 64, &count);
    }
    wall_s = 1e-9 * (double)(ranks_now_ns() - begin_ns);
    percent = 100 * (cpu_s() - used_s) / wall_s;
    printf("rank %d: %.1f %% of a core while idle\n", all.rank, percent);
    CHECK(percent < PERCENT_MAX);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
