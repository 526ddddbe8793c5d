/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits in an MPI call while another rank calls it is named in that
 * rank's log, over each transport, whether the caller polls or blocks. Later it
 * serves the call, and is not named any more: silent_rank_is_named
 * polls|blocks|pulls [TRANSPORT]. With "pulls" the rank polls, and pulls memory
 * in place of a call. */
#include <stdlib.h>
#include <string.h>

#include "exposed.h"

enum {
    BLOCK_MS = 2000, /* 20 times AMALGAM_SILENT_MS */
    POLLS = 4096,    /* between two looks at the log */
    LEN = 1 << 20,
};

static unsigned char bytes[LEN];

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

/* Rank 1 exposes memory that is too long for a message. */
static void pull(struct ranks *all, FILE *file)
{
    hg_bulk_t mine = ranks_bulk(all, bytes, LEN, HG_BULK_READWRITE);

    if (all->rank == 1) {
        exposed_send(mine, 0);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        struct ranks_call call = {.ret = HG_OTHER_ERROR};
        hg_bulk_t origin = exposed_take(all, 1);
        hg_addr_t addr = HG_ADDR_NULL;

        OK(amalgam_addr_rank(all->cls, 1, &addr));
        OK(HG_Bulk_transfer(all->context, ranks_done, &call, HG_BULK_PULL, addr,
            origin, 0, mine, 0, LEN, HG_OP_ID_IGNORE));
        wait_named(all, file, false);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(ranks_wait(&call));
        OK(HG_Addr_free(all->cls, addr));
        OK(HG_Bulk_free(origin));
    }
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(mine));
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
    if (argc > 1 && strcmp(argv[1], "pulls") == 0) {
        pull(&all, file);
    } else if (all.rank == 0) {
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
