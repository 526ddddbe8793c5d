/* SPDX-License-Identifier: BSD-3-Clause */
/* At MPI_THREAD_SERIALIZED a class may open and close while another thread
 * makes progress in another class: no two calls of MPI overlap. That thread
 * answers calls of a rank that opens or closes the class later. */
#include <pthread.h>
#include <sched.h>

#include "ranks.h"

enum { ROUNDS = 3, YIELDS = 50, TAG = 1, WAIT_MS = 30000 };

static struct ranks all;
static struct ranks other;
static atomic_bool is_over;
static atomic_int inside;
static atomic_uint overlaps;
static atomic_uint polls;
static bool tells; /* rank 1, that rank 0 has begun to open */

/* A call of MPI by the library begins; it takes long if `is_long`. */
static void call_begin(bool is_long)
{
    if (atomic_fetch_add(&inside, 1) > 0)
        atomic_fetch_add(&overlaps, 1u);
    for (int i = 0; is_long && i < YIELDS; i++)
        sched_yield();
}

static int call_end(int rc)
{
    atomic_fetch_sub(&inside, 1);
    return rc;
}

int MPI_Testsome(int count, MPI_Request requests[], int *done, int indices[],
    MPI_Status statuses[])
{
    call_begin(false);
    atomic_fetch_add(&polls, 1u);
    return call_end(PMPI_Testsome(count, requests, done, indices, statuses));
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
    MPI_Message *message, MPI_Status *status)
{
    call_begin(false);
    atomic_fetch_add(&polls, 1u);
    return call_end(PMPI_Improbe(source, tag, comm, flag, message, status));
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    call_begin(false);
    atomic_fetch_add(&polls, 1u);
    return call_end(PMPI_Test(request, flag, status));
}

int MPI_Iprobe(
    int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    call_begin(false);
    atomic_fetch_add(&polls, 1u);
    return call_end(PMPI_Iprobe(source, tag, comm, flag, status));
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
    MPI_Status *status)
{
    call_begin(false);
    atomic_fetch_add(&polls, 1u);
    return call_end(PMPI_Testany(count, requests, index, flag, status));
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *dup, MPI_Request *request)
{
    call_begin(true);
    return call_end(PMPI_Comm_idup(comm, dup, request));
}

int MPI_Comm_free(MPI_Comm *comm)
{
    call_begin(true);
    return call_end(PMPI_Comm_free(comm));
}

int MPI_Iallreduce(const void *mine, void *all_of, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    call_begin(true);
    if (tells)
        PMPI_Send(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    tells = false;
    return call_end(
        PMPI_Iallreduce(mine, all_of, count, type, op, comm, request));
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    call_begin(true);
    return call_end(PMPI_Ibarrier(comm, request));
}

int MPI_Mrecv(void *bytes, int count, MPI_Datatype type, MPI_Message *message,
    MPI_Status *status)
{
    call_begin(true);
    return call_end(PMPI_Mrecv(bytes, count, type, message, status));
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    call_begin(true);
    return call_end(PMPI_Isend(bytes, count, type, rank, tag, comm, request));
}

static void *progress(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned count = 0;

        (void)HG_Progress(all.context, 0);
        (void)HG_Trigger(all.context, 0, 1, &count);
    }
    return NULL;
}

int main(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    pthread_t thread;

    ranks_start(MPI_THREAD_SERIALIZED);
    ranks_open(&all, MPI_COMM_WORLD);
    if (all.rank == 1)
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    tells = all.rank == 0;
    CHECK(pthread_create(&thread, NULL, progress, NULL) == 0);
    while (atomic_load(&polls) == 0)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        if (all.rank == 1) {
            OK(amalgam_wait(all.cls, &request, WAIT_MS, NULL));
            ranks_echo(&all, 0, 1);
        }
        ranks_open(&other, MPI_COMM_WORLD);
        if (all.rank == 1)
            ranks_echo(&all, 0, 2);
        ranks_close(&other);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&overlaps) == 0);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
