/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a node find each other in their place, in the order of their
 * numbers, and exchange there what is longer and shorter than a piece, in a
 * random order of calls; a rank with another number is alone. The place has no
 * name when all have settled. */
#include "mpi_backend/mpi_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

enum { ROUNDS = 300, LEN_MAX = 5000, NUMBER = 4711 };

static uint64_t seed = 17; /* the same on all ranks */

static size_t random_below(size_t end)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % end;
}

static unsigned char byte_of(size_t round, int rank, size_t at)
{
    return (unsigned char)(round * 7 + (size_t)rank * 31 + at);
}

static void comm_settle(struct amg_mpi_comm *comm, uint64_t number)
{
    comm->data = MPI_COMM_WORLD;
    MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
    comm->place = amg_mpi_place_enter(comm, number);
    CHECK(comm->place != NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    amg_mpi_place_settle(comm->place, comm);
}

static void gather_check(struct amg_mpi_comm *comm, size_t round, size_t len)
{
    static unsigned char all[8 * LEN_MAX];
    static unsigned char mine[LEN_MAX];
    bool is_reader = (size_t)comm->rank != round % 3;

    for (size_t i = 0; i < len; i++)
        mine[i] = byte_of(round, comm->rank, i);
    CHECK(amg_mpi_place_allgather(
              comm->place, mine, len, is_reader ? all : NULL) == MPI_SUCCESS);
    for (int rank = 0; rank < comm->node_size && is_reader; rank++)
        for (size_t i = 0; i < len; i++)
            CHECK(all[(size_t)rank * len + i] == byte_of(round, rank, i));
}

static void bcast_check(struct amg_mpi_comm *comm, size_t round, size_t len)
{
    static unsigned char bytes[LEN_MAX];
    int root = (int)(round % (size_t)comm->node_size);

    memset(bytes, 0, sizeof(bytes));
    for (size_t i = 0; i < len && comm->node_rank == root; i++)
        bytes[i] = byte_of(round, root, i);
    CHECK(amg_mpi_place_bcast(comm->place, bytes, len, root) == MPI_SUCCESS);
    for (size_t i = 0; i < len; i++)
        CHECK(bytes[i] == byte_of(round, root, i));
}

static void all_meet(void)
{
    struct amg_mpi_comm comm = {0};
    char path[64];

    comm_settle(&comm, NUMBER);
    CHECK(comm.node_rank == comm.rank && comm.node_size == comm.size);
    CHECK(comm.node_first == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof(path), "/dev/shm/amalgam-%u-meet-%016x",
        (unsigned)geteuid(), NUMBER);
    CHECK(access(path, F_OK) != 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t len = random_below(round % 2 ? LEN_MAX : 300);

        if (random_below(2) == 0)
            gather_check(&comm, round, len);
        else
            bcast_check(&comm, round, len);
    }
    amg_mpi_place_leave(comm.place);
}

/* Even ranks, and odd ones. */
static void nodes_meet(void)
{
    struct amg_mpi_comm comm = {0};

    MPI_Comm_rank(MPI_COMM_WORLD, &comm.rank);
    comm_settle(&comm, NUMBER + 1 + (uint64_t)comm.rank % 2);
    CHECK(comm.node_first == (uint32_t)comm.rank % 2);
    CHECK(comm.node_rank == comm.rank / 2);
    CHECK(comm.node_size == (comm.size + 1 - comm.rank % 2) / 2);
    amg_mpi_place_leave(comm.place);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    all_meet();
    nodes_meet();
    amg_mpi_place_leave(NULL);
    MPI_Finalize();
    return 0;
}
