/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that cannot carry a class are refused by all ranks, with a
 * reason, and nothing leaks. */
#include "ranks.h"

/* Open MPI does not notice it. */
static void freed_refused(FILE *log)
{
#if !defined(OPEN_MPI)
    MPI_Comm freed = MPI_COMM_NULL;
    MPI_Comm stale = MPI_COMM_NULL;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    stale = freed;
    MPI_Comm_free(&freed);
    CHECK(amalgam_init(stale, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, "which may have been freed"));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#else
    (void)log;
#endif
}

int main(void)
{
    struct ranks all;
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    FILE *log = NULL;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("error");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
    CHECK(amalgam_init(inter, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, "intercommunicator"));
    CHECK(amalgam_init(MPI_COMM_NULL, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, "MPI_COMM_NULL"));
    freed_refused(log);
    CHECK(amalgam_init(MPI_COMM_WORLD, "carrier+pigeon", NULL) == NULL);
    CHECK(ranks_log_has(log, "carrier+pigeon"));
    options.message_bytes = 16;
    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, &options) == NULL);
    CHECK(ranks_log_has(log, "message_bytes"));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
