/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of the ranks of MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam.h"
#include "api.h"

static MPI_Request ring_barrier;

static void ring_start(int *ret_rank, int *ret_size)
{
    int level = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, ret_rank);
    MPI_Comm_size(MPI_COMM_WORLD, ret_size);
}

static hg_class_t *ring_open(const char *transport, const struct api_wish *wish)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;

    if (wish->tune != NULL)
        return api_init(transport, wish);
    options.contexts = wish->contexts;
    options.no_overflow = wish->no_overflow;
    options.no_bulk_eager = wish->no_bulk_eager;
    options.client_only = wish->client_only;
    return amalgam_init(MPI_COMM_WORLD, transport, &options);
}

static void ring_barrier_begin(void)
{
    MPI_Ibarrier(MPI_COMM_WORLD, &ring_barrier);
}

static bool ring_barrier_is_done(void)
{
    /* Not read; with MPI_STATUS_IGNORE gcc warns of MPICH's declaration. */
    MPI_Status status;
    int is_done = 0;

    MPI_Test(&ring_barrier, &is_done, &status);
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

const struct api_world api_world = {
    .start = ring_start,
    .open = ring_open,
    .address = amalgam_addr_rank,
    .barrier_begin = ring_barrier_begin,
    .barrier_is_done = ring_barrier_is_done,
    .make_foreign = ring_make_foreign,
    .stop = ring_stop,
    .die = ring_die,
};
