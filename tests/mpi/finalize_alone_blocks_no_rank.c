/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that closes a class alone, and abandons the others, does not block
 * their end later; and, with the argument "crossed", ranks that close their
 * classes in different orders reach the end of MPI. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

static struct ranks first;
static struct ranks second;

/* The last rank gives up; the others serve it meanwhile. */
static void last_closes(struct ranks *ranks)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int has_come = 0;

    if (ranks->rank == ranks->size - 1) {
        ranks_leave(ranks);
        EXPECT(HG_TIMEOUT, amalgam_finalize(ranks->cls));
        ranks->cls = NULL;
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!has_come) {
        MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
        ranks_turn();
    }
}

static void class_open(struct ranks *ranks)
{
    ranks_open(ranks, MPI_COMM_WORLD);
    ranks_exchange(ranks);
    ranks_meet(MPI_COMM_WORLD);
}

static void rest_close(struct ranks *ranks)
{
    if (ranks->cls != NULL)
        ranks_close(ranks);
}

int main(int argc, char **argv)
{
    bool is_crossed = argc > 1 && strcmp(argv[1], "crossed") == 0;
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("warning");
    class_open(&first);
    if (is_crossed) {
        class_open(&second);
        last_closes(&second);
    } else {
        last_closes(&first);
        rest_close(&first);
    }
    MPI_Finalize();
    CHECK(!ranks_log_has(log, "could not be freed"));
    if (is_crossed) {
        rest_close(&first);
        rest_close(&second);
    }
    return EXIT_SUCCESS;
}
