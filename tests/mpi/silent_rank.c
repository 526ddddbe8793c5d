/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits in an MPI call while another rank calls it is named in that
 * rank's log, over each transport, whether the caller polls or blocks. Later it
 * serves the call, and is not named any more: silent_rank polls|blocks
 * [TRANSPORT]. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum {
    BLOCK_MS = 2000, /* 20 times AMALGAM_SILENT_MS */
    POLLS = 4096,    /* between two looks at the log */
};

static bool is_named(FILE *file)
{
    return ranks_log_has(file, "has answered nothing for") &&
           ranks_log_has(file, "rank 1") &&
           ranks_log_has(file, "1 calls and transfers of this process wait");
}

/* Makes progress until rank 1 is named; `blocks`: by one call, in which nothing
 * happens but the checks of a blocked thread. */
static void wait_named(struct ranks *all, FILE *file, bool blocks)
{
    if (blocks) {
        EXPECT(HG_TIMEOUT, HG_Progress(all->context, BLOCK_MS));
        CHECK(is_named(file));
    }
    while (!is_named(file))
        for (int i = 0; i < POLLS; i++)
            (void)HG_Progress(all->context, 0);
}

int main(int argc, char **argv)
{
    bool blocks = argc > 1 && strcmp(argv[1], "blocks") == 0;
    struct ranks all;
    ranks_echo_t in = {.value = 1};
    FILE *file = NULL;

    if (argc > 2)
        setenv("AMALGAM_TRANSPORT", argv[2], 1);
    ranks_start(MPI_THREAD_SINGLE);
    ranks_open(&all, MPI_COMM_WORLD);
    file = ranks_log_catch("warning");
    MPI_Barrier(MPI_COMM_WORLD); /* from here on rank 1 serves nothing */
    if (all.rank == 0) {
        struct ranks_call call;

        in.from = all.rank;
        OK(ranks_begin(&all, &call, 1, all.echo, &in));
        wait_named(&all, file, blocks);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(ranks_wait(&call));
        ranks_end(&call);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
