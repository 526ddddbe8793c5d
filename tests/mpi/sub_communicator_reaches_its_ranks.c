/* SPDX-License-Identifier: BSD-3-Clause */
/* A class over a part of the world, in reverse order of ranks, calls the ranks
 * of that part and no others. */
#include <stdlib.h>

#include "ranks.h"

/* The world rank of each rank of the part. */
static void order_check(struct ranks *part, MPI_Comm comm, int world_rank)
{
    int *world_ranks = NULL;

    world_ranks = calloc((size_t)part->size, sizeof(*world_ranks));
    CHECK(world_ranks != NULL);
    MPI_Allgather(&world_rank, 1, MPI_INT, world_ranks, 1, MPI_INT, comm);
    for (int i = 1; i < part->size; i++)
        CHECK(world_ranks[i] < world_ranks[i - 1]);
    CHECK(world_ranks[part->rank] == world_rank);
    free(world_ranks);
}

int main(void)
{
    struct ranks part;
    MPI_Comm comm = MPI_COMM_NULL;
    int world_rank = 0;
    int world_size = 0;
    int size = 0;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_split(
        MPI_COMM_WORLD, world_rank * 2 / world_size, -world_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    ranks_open(&part, comm);
    CHECK(part.rank == rank && part.size == size && size < world_size);
    order_check(&part, comm, world_rank);
    ranks_exchange(&part);
    ranks_meet(comm);
    /* Only those of the part called: one echo from each. */
    CHECK(atomic_load(&part.echoed) == (unsigned long)size);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&part);
    MPI_Comm_free(&comm);
    return ranks_stop();
}
