/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that ranks with different versions of the library refuse to open a
 * class, all of them, with a line that names a rank of each version, its host
 * and its version; and that nothing is left behind. */
#include <string.h>

#include "mpi_backend/mpi_facts.h"
#include "ranks.h"

static bool is_other;

/* The first exchange of an opening: this rank claims another version. */
int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type,
    MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    struct amg_mpi_greeting *greeting = all;

    if (is_other) {
        is_other = false;
        CHECK(mine == MPI_IN_PLACE && greeting->first.layout != 0);
        strcpy(greeting->first.version, "9.9.9");
        strcpy(greeting->first.host, "elsewhere");
        greeting->first.layout++;
    }
    return PMPI_Iallreduce(mine, all, count, type, op, comm, request);
}

int main(void)
{
    struct ranks all;
    FILE *log = NULL;
    int rank = 0;
    int size = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    log = ranks_log_catch("error");
    for (int odd = 0; odd < size; odd++) {
        char line[64];

        is_other = rank == odd;
        CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
        snprintf(line, sizeof(line), "rank %d on elsewhere has %s9.9.9", odd,
            odd == 0 ? "version " : "");
        CHECK(ranks_log_has(log, line));
        CHECK(ranks_log_has(log, odd == 0 ? ", and rank 1 on " : "rank 0 on "));
    }
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
