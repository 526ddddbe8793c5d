/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of the job, in the order in which the benchmarks number them. */
#include "jobs/bench/frame/world.h"

#include <stddef.h>
#include <stdlib.h>

/* Where a rank comes when it is not one of the two. */
enum { KEY_FIRST = 0, KEY_SECOND = 1, KEY_OTHERS = 2 };

/* The number of this rank's node, the same at all of its ranks: the lowest of
 * their ranks. */
static int node_number(int rank)
{
    MPI_Comm node = MPI_COMM_NULL;
    int lowest = rank;

    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    return lowest;
}

/* The first rank on the same node as rank 0, or on another one; 1 where there
 * is none. */
static int second_choose(const int *nodes, int size, bool is_near)
{
    for (int i = 1; i < size; i++)
        if ((nodes[i] == nodes[0]) == is_near)
            return i;
    return 1;
}

static int nodes_count(const int *nodes, int size)
{
    int count = 0;

    for (int i = 0; i < size; i++)
        count += nodes[i] == i ? 1 : 0;
    return count;
}

void world_make(bool is_near, struct world *ret_world)
{
    int *nodes = NULL;
    int rank = 0;
    int size = 0;
    int node = 0;
    int key = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    nodes = calloc((size_t)size, sizeof(*nodes));
    if (nodes == NULL)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    node = node_number(rank);
    MPI_Allgather(&node, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
    key = KEY_OTHERS + rank;
    if (rank == 0)
        key = KEY_FIRST;
    else if (rank == second_choose(nodes, size, is_near))
        key = KEY_SECOND;
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &ret_world->comm);
    MPI_Comm_rank(ret_world->comm, &ret_world->rank);
    ret_world->size = size;
    ret_world->nodes = nodes_count(nodes, size);
    free(nodes);
}

void world_free(struct world *world)
{
    MPI_Comm_free(&world->comm);
}
