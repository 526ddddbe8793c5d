/* SPDX-License-Identifier: BSD-3-Clause */
/* A class that is opened after MPI_Finalize is refused with a reason, and the
 * process goes on. */
#include <stdlib.h>

#include "ranks.h"

int main(void)
{
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    MPI_Finalize();
    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, "before MPI_Finalize"));
    CHECK(HG_Init("mpi", HG_TRUE) == NULL);
    return EXIT_SUCCESS;
}
