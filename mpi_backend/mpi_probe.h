/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures what windows and messages are worth between nodes. */
#ifndef AMG_MPI_BACKEND_MPI_PROBE_H
#define AMG_MPI_BACKEND_MPI_PROBE_H

#include <mpi.h>

#include "mercury_core_types.h"
#include "mpi_backend/mpi_choice.h"

enum {
    AMG_MPI_PROBE_LEN = 1048576, /* of each spot */
    AMG_MPI_KNOCK_LEN = 64,
    AMG_MPI_PROBE_MS = 50,
};

/* Memory of this rank that others reach by a window. */
struct amg_mpi_spot {
    MPI_Win win; /* MPI_WIN_NULL: there is none */
    void *bytes; /* NULL: this rank has none */
    uint64_t disp;
};

/* What is measured. The windows are open for access to all ranks. */
struct amg_mpi_probe {
    MPI_Comm comm; /* all ranks */
    int rank;
    bool is_leader; /* the first rank of its node: one of each measures */
    struct amg_mpi_spot spots[AMG_MPI_MEMORIES];
    struct amg_mpi_spot knock; /* of AMG_MPI_KNOCK_LEN, which are counted up */
    enum amg_mpi_trouble trouble; /* this rank's, before it begins */
    uint64_t windows_ns;
    uint64_t budget_ms;   /* of all rounds together: AMG_MPI_PROBE_MS */
    uint64_t patience_ms; /* how long ranks are waited for at all */
};

/* Collective over `probe->comm`, where nothing else goes on meanwhile. Takes
 * its budget from the moment when all ranks have come, and as much longer
 * as somebody is away in the end. The result is the same everywhere; a
 * failure of one rank is a trouble in it.
 * HG_TIMEOUT: a rank never came; MPI may still write to the spots.
 * HG_NA_ERROR: MPI failed in the end. */
hg_return_t amg_mpi_probe_run(
    const struct amg_mpi_probe *probe, struct amg_mpi_figures *ret_figures);

#endif
