/* SPDX-License-Identifier: BSD-3-Clause */
/* The library refuses to run with an MPI of another family than it was built
 * with, and names both. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

static bool is_other;

/* The library calls this one, as the program is searched before MPI. */
int MPI_Get_library_version(char *version, int *len)
{
#if defined(OPEN_MPI)
    const char *own = "Open MPI v0";
    const char *other = "MPICH Version:\t0.1";
#else
    const char *own = "MPICH Version:\t0.1";
    const char *other = "Open MPI v0";
#endif

    strcpy(version, is_other ? other : own);
    *len = (int)strlen(version);
    return MPI_SUCCESS;
}

int main(void)
{
    struct ranks all;
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    is_other = true;
    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, "was built with"));
    CHECK(HG_Init("mpi", HG_TRUE) == NULL);
    is_other = false;
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
