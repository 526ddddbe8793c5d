/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_finalize() that returns HG_BUSY names the rank it waits for: one that
 * has not answered a call whose handle is still open, or, with the argument
 * "pulls", one that has not sent the bytes of a transfer. */
#include "exposed.h"

enum { LEN = 1 << 20 };

static unsigned char bytes[LEN];

static void call_busy(struct ranks *all, FILE *log)
{
    struct ranks_call call;
    ranks_echo_t in = {1, 0};

    OK(ranks_begin(all, &call, 1, all->echo, &in));
    EXPECT(HG_BUSY, amalgam_finalize(all->cls));
    CHECK(ranks_log_has(log, "rank 1 has not answered 1 requests"));
    MPI_Barrier(MPI_COMM_WORLD); /* rank 1 makes progress from here */
    OK(ranks_wait(&call));
    ranks_end(&call);
}

static void pull_busy(struct ranks *all, hg_bulk_t mine, FILE *log)
{
    struct ranks_call call = {.ret = HG_OTHER_ERROR};
    hg_bulk_t origin = exposed_take(all, 1);
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all->cls, 1, &addr));
    OK(HG_Bulk_transfer(all->context, ranks_done, &call, HG_BULK_PULL, addr,
        origin, 0, mine, 0, LEN, HG_OP_ID_IGNORE));
    EXPECT(HG_BUSY, amalgam_finalize(all->cls));
    CHECK(ranks_log_has(log, "rank 1 has not ended 1 transfers of rank 0"));
    MPI_Barrier(MPI_COMM_WORLD); /* rank 1 makes progress from here */
    OK(ranks_wait(&call));
    OK(HG_Addr_free(all->cls, addr));
    OK(HG_Bulk_free(origin));
}

int main(int argc, char **argv)
{
    struct ranks all;
    hg_bulk_t mine = HG_BULK_NULL;

    (void)argv;
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_exchange(&all);
    mine = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 1 && argc > 1)
        exposed_send(mine, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* rank 1 makes no progress from here */
    if (all.rank == 1)
        MPI_Barrier(MPI_COMM_WORLD); /* until here */
    else if (argc > 1)
        pull_busy(&all, mine, ranks_log_catch("warning"));
    else
        call_busy(&all, ranks_log_catch("warning"));
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(mine));
    ranks_close(&all);
    return ranks_stop();
}
