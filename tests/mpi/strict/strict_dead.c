/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that is dead from one of its calls on, although its process lives: the
 * call does not return, nor does another one of MPI there, so what waits in the
 * stand-in never leaves. What others send to the rank is complete at once, and
 * lost; no error tells them, as with MPICH over UCX when a rank is killed. The
 * process ends when those of the other ranks have ended; they must leave
 * without MPI_Finalize, which waits for all ranks. */
#include "mpi/strict/strict_dead.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/strict/strict.h"
#include "mpi/strict/strict_token.h"

enum { RANKS_MAX = 64, ROUND_MS = 20, CALLS_MAX = 64 };

/* Of all ranks. */
static struct {
    atomic_bool is_dead;
    pid_t processes[RANKS_MAX]; /* before MPI_Init returns */
} * shared;                     /* NULL: no rank dies */
static int victim;
static bool is_counted;
static unsigned calls; /* of this process */

void strict_dead_begin(void)
{
    victim = (int)strict_choice(STRICT_DEAD);
    if (victim >= strict_size || strict_size > RANKS_MAX)
        return;
    shared = strict_shared_open(sizeof(*shared));
    shared->processes[strict_rank] = getpid();
    (void)PMPI_Barrier(MPI_COMM_WORLD);
}

void strict_dead_reseed(void)
{
    is_counted = true;
    calls = 0;
}

static bool others_live(void)
{
    for (int rank = 0; rank < strict_size; rank++)
        if (rank != strict_rank &&
            (kill(shared->processes[rank], 0) == 0 || errno != ESRCH))
            return true;
    return false;
}

void strict_dead_count(void)
{
    unsigned at = strict_choice(STRICT_DEAD_AT);

    if (shared == NULL || strict_rank != victim || !is_counted)
        return;
    if (at == 0)
        at = 1 + (unsigned)(strict_mix(strict_seed(), 1002) % CALLS_MAX);
    if (++calls < at)
        return;
    atomic_store(&shared->is_dead, true);
    fprintf(stderr, "strict: rank %d: %s: dead from message call %u on\n",
        strict_rank, strict_call(), at);
    while (others_live())
        (void)poll(NULL, 0, ROUND_MS);
    _exit(EXIT_SUCCESS);
}

bool strict_dead_may_be(MPI_Comm comm, int rank)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int is_inter = 0;
    int in_world = MPI_UNDEFINED;

    if (shared == NULL || rank == MPI_PROC_NULL)
        return false;
    (void)PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        return false;
    (void)PMPI_Comm_group(MPI_COMM_WORLD, &world);
    (void)PMPI_Comm_group(comm, &group);
    (void)PMPI_Group_translate_ranks(group, 1, &rank, world, &in_world);
    (void)PMPI_Group_free(&group);
    (void)PMPI_Group_free(&world);
    return in_world == victim;
}

bool strict_dead_is_now(void)
{
    return shared != NULL && atomic_load(&shared->is_dead);
}
