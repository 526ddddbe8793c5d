/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of the probe: its requests, and what went wrong. */
#include "mpi_backend/mpi_run.h"

#include <sched.h>

#include "base/clock.h"
#include "mpi_backend/mpi_comm.h"

enum { SPINS = 200 }; /* looks before the core is offered to others */

void amg_mpi_run_trouble(
    struct amg_mpi_run *run, enum amg_mpi_trouble trouble, int rank)
{
    struct amg_mpi_figures *figures = &run->ballot.figures;

    if (trouble <= figures->trouble)
        return;
    figures->trouble = trouble;
    figures->rank = (uint32_t)rank;
}

/* True: MPI did what it was asked. */
bool amg_mpi_run_is_good(struct amg_mpi_run *run, int code, const char *what)
{
    if (code == MPI_SUCCESS)
        return true;
    (void)amg_mpi_comm_error(code, what);
    amg_mpi_run_trouble(run, AMG_MPI_TROUBLE_FAILED, run->probe->rank);
    return false;
}

/* Until the request has ended; false: `end_ns` came first, or MPI failed. */
bool amg_mpi_run_wait(
    struct amg_mpi_run *run, enum amg_mpi_slot slot, uint64_t end_ns)
{
    unsigned looks = 0;
    int flag = 0;

    while (amg_mpi_run_is_good(run,
        MPI_Test(
            &run->requests[run->is_serving][slot], &flag, MPI_STATUS_IGNORE),
        "a message between nodes")) {
        if (flag)
            return true;
        if (amg_clock_ns() >= end_ns)
            return false;
        if (++looks > SPINS)
            sched_yield();
    }
    return false;
}

bool amg_mpi_run_expect(struct amg_mpi_run *run, void *bytes, uint64_t len,
    int tag, enum amg_mpi_slot slot)
{
    return amg_mpi_run_is_good(run,
        MPI_Irecv(bytes, (int)len, MPI_BYTE, run->other, tag, run->leaders,
            &run->requests[run->is_serving][slot]),
        "MPI_Irecv");
}

bool amg_mpi_run_send(struct amg_mpi_run *run, const void *bytes, uint64_t len,
    int tag, enum amg_mpi_slot slot)
{
    return amg_mpi_run_is_good(run,
        MPI_Isend(bytes, (int)len, MPI_BYTE, run->other, tag, run->leaders,
            &run->requests[run->is_serving][slot]),
        "MPI_Isend");
}
