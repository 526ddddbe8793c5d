/* SPDX-License-Identifier: BSD-3-Clause */
/* A class that is opened before MPI_Init or after MPI_Finalize is refused with
 * a reason, and the process goes on. */
#include <stdlib.h>

#include "na_mpi.h"
#include "ranks.h"

static void refused(FILE *log, const char *why)
{
    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, why));
    CHECK(amalgam_init(MPI_COMM_SELF, NULL, NULL) == NULL);
    CHECK(NA_MPI_Set_init_intra_comm(MPI_COMM_WORLD) != NA_SUCCESS);
}

int main(void)
{
    FILE *log = ranks_log_catch("error");

    refused(log, "call MPI_Init_thread first");
    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Finalize();
    refused(log, "before MPI_Finalize");
    CHECK(HG_Init("mpi", HG_TRUE) == NULL);
    return EXIT_SUCCESS;
}
