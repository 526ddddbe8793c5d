/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to preload: rank KILL_RANK kills itself when it sends its message
 * number KILL_AT by MPI. */
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static void message_count(void)
{
    static atomic_int count;
    const char *at = getenv("KILL_AT");
    const char *victim = getenv("KILL_RANK");
    int rank = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (at != NULL && victim != NULL && rank == atoi(victim) &&
        atomic_fetch_add(&count, 1) + 1 == atoi(at))
        raise(SIGKILL);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    message_count();
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}
