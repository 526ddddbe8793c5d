/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that opening a class makes few collective calls of MPI over all ranks,
 * none of which blocks, and sends few messages from rank to rank, none on one
 * node; so that no number grows unseen: opening_makes_few_mpi_calls COLLECTIVES
 * [MESSAGES].
 *
 * A blocking call keeps the core until its time slice is over, while the rank
 * that it waits for may have none. */
#include <stdlib.h>

#include "ranks.h"

static unsigned collectives;
static unsigned blocking;
static unsigned messages;
static bool has_windows; /* over all ranks: measured to be faster this time */

static bool is_of_all(MPI_Comm comm)
{
    int size = 0;
    int all = 0;

    PMPI_Comm_size(comm, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &all);
    return size == all;
}

/* Of all ranks, not of those that measure. */
static void collective_count(MPI_Comm comm)
{
    collectives += is_of_all(comm);
}

int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    collective_count(comm);
    return PMPI_Iallreduce(mine, all, count, type, op, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    collective_count(comm);
    return PMPI_Ibarrier(comm, request);
}

int MPI_Iexscan(const void *mine, void *before, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    collective_count(comm);
    return PMPI_Iexscan(mine, before, count, type, op, comm, request);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *dup, MPI_Request *request)
{
    collective_count(comm);
    return PMPI_Comm_idup(comm, dup, request);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    has_windows |= is_of_all(comm);
    return PMPI_Win_create_dynamic(info, comm, win);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *dup)
{
    blocking++;
    return PMPI_Comm_dup(comm, dup);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *split)
{
    blocking++;
    return PMPI_Comm_split(comm, color, key, split);
}

int MPI_Comm_split_type(
    MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *split)
{
    blocking++;
    return PMPI_Comm_split_type(comm, type, key, info, split);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm)
{
    blocking++;
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

int MPI_Bcast(
    void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    blocking++;
    return PMPI_Bcast(bytes, count, type, root, comm);
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all,
    int each, MPI_Datatype type_of_all, MPI_Comm comm)
{
    blocking++;
    return PMPI_Allgather(mine, count, type, all, each, type_of_all, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    blocking++;
    return PMPI_Barrier(comm);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    messages++;
    return PMPI_Isend(bytes, count, type, rank, tag, comm, request);
}

int MPI_Send(const void *bytes, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm)
{
    messages++;
    return PMPI_Send(bytes, count, type, rank, tag, comm);
}

int main(int argc, char **argv)
{
    unsigned allowed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    struct ranks all;
    hg_class_t *cls = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    collectives = blocking = messages = 0;
    cls = amalgam_init(MPI_COMM_WORLD, "auto", NULL);
    CHECK(cls != NULL);
    CHECK(blocking == 0);
    CHECK(collectives == allowed || has_windows);
    if (argc > 2)
        CHECK(messages <= strtoul(argv[2], NULL, 10));
    ranks_adopt(&all, cls);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
