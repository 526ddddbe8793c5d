/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of the job, in the order in which the benchmarks number them. */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include <mpi.h>
#include <stdbool.h>

/* Owned by main(), until world_free(). */
struct world {
    MPI_Comm comm; /* of all ranks */
    int rank;
    int size;
    int nodes; /* that share no memory */
};

/* Collective over all ranks. Rank 0 stays; rank 1 is the first of another node,
 * so that two nodes are measured where there are two, or with `is_near` the
 * first of the same node; the others follow in MPI's order. */
void world_make(bool is_near, struct world *ret_world);
void world_free(struct world *world);

#endif
