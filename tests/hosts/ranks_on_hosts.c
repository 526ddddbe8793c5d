/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on two hosts reach each other over the route in the log: ranks_on_hosts
 * URI LINE. Calls, and data both ways, between all pairs. */
#include <stdlib.h>

#include "mpi/ranks.h"

enum { LIMIT_S = 50 };

int main(int argc, char **argv)
{
    static const size_t lens[] = {8, 65536, 2 << 20};
    static struct ranks all;
    FILE *log = NULL;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_limit(LIMIT_S);
    CHECK(argc == 3);
    log = ranks_log_catch("info");
    ranks_adopt(&all, amalgam_init(MPI_COMM_WORLD, argv[1], NULL));
    CHECK(ranks_log_has(log, argv[2]));
    HG_Set_log_stream("info", NULL);
    HG_Set_log_level("warning");
    fclose(log);
    ranks_meet(MPI_COMM_WORLD);
    ranks_exchange(&all);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        for (int to = 1; to < all.size; to++)
            ranks_swap(&all, (all.rank + to) % all.size, lens[i]);
    ranks_meet(MPI_COMM_WORLD);
    rank = all.rank;
    ranks_close(&all);
    printf("rank %d is done\n", rank);
    fflush(stdout);
    return ranks_stop();
}
