/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a communicator as a bootstrap. */
#include "mpi_backend/mpi_boot.h"

#include <limits.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/clock.h"

/* The communicator, and the turn to call MPI. */
static MPI_Comm call_begin(struct amg_boot *boot)
{
    const struct amg_mpi_boot *mpi = (const struct amg_mpi_boot *)(void *)boot;

    if (!mpi->has_turn)
        amg_mpi_comm_turn_take(mpi->comm);
    return mpi->comm->data;
}

static hg_return_t call_end(struct amg_boot *boot, int rc, const char *what)
{
    const struct amg_mpi_boot *mpi = (const struct amg_mpi_boot *)(void *)boot;
    hg_return_t ret =
        rc == MPI_SUCCESS ? HG_SUCCESS : amg_mpi_comm_error(rc, what);

    if (!mpi->has_turn)
        amg_mpi_comm_turn_give(mpi->comm);
    return ret;
}

static hg_return_t boot_allgather(
    struct amg_boot *boot, const void *mine, size_t len, void *ret_all)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX))
        return HG_INVALID_ARG;
    rc = MPI_Allgather(mine, (int)len, MPI_BYTE, ret_all, (int)len, MPI_BYTE,
        call_begin(boot));
    return call_end(boot, rc, "MPI_Allgather");
}

static hg_return_t boot_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    int rc = MPI_SUCCESS;

    if (!AMG_CONTRACT(len <= INT_MAX && root < boot->size))
        return HG_INVALID_ARG;
    rc = MPI_Bcast(bytes, (int)len, MPI_BYTE, (int)root, call_begin(boot));
    return call_end(boot, rc, "MPI_Bcast");
}

static hg_return_t boot_barrier(struct amg_boot *boot)
{
    int rc = MPI_Barrier(call_begin(boot));

    return call_end(boot, rc, "MPI_Barrier");
}

hg_return_t amg_mpi_boot_nonce(struct amg_mpi_boot *boot, uint64_t *ret_nonce)
{
    uint64_t nonce = 0;
    hg_return_t rc = HG_SUCCESS;

    if (boot->base.rank == 0 && getrandom(&nonce, sizeof(nonce),
                                    GRND_NONBLOCK) != (ssize_t)sizeof(nonce))
        nonce = amg_clock_ns();
    rc = boot_bcast(&boot->base, &nonce, sizeof(nonce), 0);
    if (rc == HG_SUCCESS)
        *ret_nonce = nonce;
    return rc;
}

static const struct amg_boot_ops boot_ops = {
    .allgather = boot_allgather,
    .bcast = boot_bcast,
    .barrier = boot_barrier,
};

void amg_mpi_boot_init(
    const struct amg_mpi_comm *comm, struct amg_mpi_boot *ret_boot)
{
    ret_boot->base.ops = &boot_ops;
    ret_boot->base.rank = (uint32_t)comm->rank;
    ret_boot->base.size = (uint32_t)comm->size;
    ret_boot->base.node_rank = (uint32_t)comm->node_rank;
    ret_boot->base.node_size = (uint32_t)comm->node_size;
    ret_boot->comm = comm;
    ret_boot->has_turn = false;
}
