/* SPDX-License-Identifier: BSD-3-Clause */
/* An idle class holds at most 8 bytes for each additional rank, and its
 * binding, if it is on the same node.
 *
 * Counts the library's heap memory of a class with a context, between ranks 0
 * and 1, and between all. MPI's own memory is not counted. */
#include <inttypes.h>
#include <stdio.h>

#include "amalgam.h"
#include "base/mem.h"
#include "affinity/policy.h"

enum {
    LIMIT_BYTES = 8,
    SMALL = 2,
    ROUNDING = 128, /* malloc may return up to 24 bytes more than requested */
};

static uint64_t bytes_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.bytes;
}

/* Bytes of an idle class over `comm`. */
static int64_t class_bytes(MPI_Comm comm)
{
    uint64_t before = bytes_now();
    uint64_t after = 0;
    hg_class_t *cls = amalgam_init(comm, "mpi+p2p", NULL);

    if (cls == NULL || HG_Context_create(cls) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    after = bytes_now();
    MPI_Barrier(comm);
    if (amalgam_finalize(cls) != HG_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return (int64_t)(after - before);
}

/* Possible further ranks on this node. */
static int neighbours(void)
{
    MPI_Comm node = MPI_COMM_NULL;
    int size = 0;

    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size > SMALL ? size - SMALL : 0;
}

int main(int argc, char **argv)
{
    MPI_Comm few = MPI_COMM_NULL;
    int64_t small = 0;
    int64_t large = 0;
    int rank = 0;
    int size = 0;
    int is_wrong = 0;
    int is_any_wrong = 0;
    int64_t placed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(
        MPI_COMM_WORLD, rank < SMALL ? 0 : MPI_UNDEFINED, rank, &few);
    if (few != MPI_COMM_NULL) {
        class_bytes(few); /* allocates what is kept for ever */
        small = class_bytes(few);
        MPI_Comm_free(&few);
    }
    large = class_bytes(MPI_COMM_WORLD);
    placed = neighbours() * (int64_t)sizeof(struct amg_affinity_rank);
    if (rank < SMALL) {
        double more = (double)(large - small) / (size - SMALL);

        printf("rank %d: %" PRId64 " bytes with %d ranks, %" PRId64
               " with %d: %.1f for each\n",
            rank, small, SMALL, large, size, more);
        is_wrong =
            large - small > LIMIT_BYTES * (size - SMALL) + placed + ROUNDING;
    }
    MPI_Allreduce(
        &is_wrong, &is_any_wrong, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    MPI_Finalize();
    return is_any_wrong;
}
