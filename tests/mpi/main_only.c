/* SPDX-License-Identifier: BSD-3-Clause */
/* Check that no thread but the first calls MPI. */
#include "main_only.h"

#include <pthread.h>

#include "ranks.h"

static atomic_bool is_watched;
static pthread_t first;

void main_only_watch(bool is_on)
{
    first = pthread_self();
    atomic_store(&is_watched, is_on);
}

static void check(void)
{
    CHECK(!atomic_load(&is_watched) || pthread_equal(pthread_self(), first));
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    check();
    return PMPI_Isend(buf, count, type, rank, tag, comm, request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int rank, int tag,
    MPI_Comm comm, MPI_Request *request)
{
    check();
    return PMPI_Irecv(buf, count, type, rank, tag, comm, request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    check();
    return PMPI_Test(request, flag, status);
}

int MPI_Testany(
    int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    check();
    return PMPI_Testany(count, requests, index, flag, status);
}

int MPI_Iprobe(int rank, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    check();
    return PMPI_Iprobe(rank, tag, comm, flag, status);
}

int MPI_Improbe(int rank, int tag, MPI_Comm comm, int *flag,
    MPI_Message *message, MPI_Status *status)
{
    check();
    return PMPI_Improbe(rank, tag, comm, flag, message, status);
}

int MPI_Cancel(MPI_Request *request)
{
    check();
    return PMPI_Cancel(request);
}
