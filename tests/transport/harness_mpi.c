/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of the ranks of MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "mpi_backend/mpi_public.h"
#include "transport/self.h"

enum { SWAP_TAG = 7 };

/* Pending requests. */
static MPI_Request ring_requests[2];
static int ring_request_count;
static int ring_rank;
static int ring_size;

static void ring_start(uint32_t *ret_rank, uint32_t *ret_size)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &ring_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ring_size);
    *ret_rank = (uint32_t)ring_rank;
    *ret_size = (uint32_t)ring_size;
}

static void ring_swap_begin(const void *mine, void *ret_right, size_t len)
{
    int left = (ring_rank + ring_size - 1) % ring_size;
    int right = (ring_rank + 1) % ring_size;

    MPI_Irecv(ret_right, (int)len, MPI_BYTE, right, SWAP_TAG, MPI_COMM_WORLD,
        &ring_requests[0]);
    MPI_Isend(mine, (int)len, MPI_BYTE, left, SWAP_TAG, MPI_COMM_WORLD,
        &ring_requests[1]);
    ring_request_count = 2;
}

static void ring_barrier_begin(void)
{
    MPI_Ibarrier(MPI_COMM_WORLD, &ring_requests[0]);
    ring_request_count = 1;
}

static bool ring_is_done(void)
{
    /* Not read; with MPI_STATUSES_IGNORE gcc warns of MPICH's declaration. */
    MPI_Status statuses[2];
    int is_done = 0;

    MPI_Testall(ring_request_count, ring_requests, &is_done, statuses);
    return is_done != 0;
}

/* "mpi://JOB/RANK": changes the last digit of the job. */
static void ring_make_foreign(char *text)
{
    char *last = strrchr(text, '/') - 1;

    *last = *last == '0' ? '1' : '0';
}

static void ring_stop(void)
{
    MPI_Finalize();
}

static void ring_die(void)
{
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    exit(EXIT_FAILURE);
}

static const struct amg_transport *const ring_transports[] = {
    &amg_mpi_transport,
    &amg_self_transport,
    NULL,
};

const struct harness_world harness_world = {
    .transports = ring_transports,
    .start = ring_start,
    .swap_begin = ring_swap_begin,
    .barrier_begin = ring_barrier_begin,
    .is_done = ring_is_done,
    .make_foreign = ring_make_foreign,
    .stop = ring_stop,
    .die = ring_die,
};
