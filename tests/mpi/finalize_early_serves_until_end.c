/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that ends at once serves calls and bulk data of the others until they
 * end, too. */
#include "ranks.h"

enum { ROUNDS = 50 };

int main(void)
{
    struct ranks all;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = 0; all.rank != 0 && i < ROUNDS; i++) {
        ranks_echo(&all, 0, i);
        ranks_swap(&all, 0, 100003);
    }
    ranks_close(&all);
    CHECK(all.rank != 0 ||
          atomic_load(&all.echoed) == (unsigned long)(all.size - 1) * ROUNDS);
    return ranks_stop();
}
