/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with open objects returns HG_BUSY before any common step: the others
 * wait, and once all is closed the end succeeds. */
#include "ranks.h"

static struct ranks all;

/* Nothing has changed: calls still work, in both directions. */
static void busy_expect(void)
{
    EXPECT(HG_BUSY, amalgam_finalize(all.cls));
    for (int i = 0; i < all.size; i++)
        if (i != all.rank)
            ranks_echo(&all, i, 1);
}

static void busy_test(void)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    char bytes[100];
    hg_bulk_t bulk = ranks_bulk(&all, bytes, sizeof(bytes), HG_BULK_READWRITE);

    busy_expect();
    OK(HG_Bulk_free(bulk));
    OK(amalgam_addr_rank(all.cls, 0, &addr));
    busy_expect();
    OK(HG_Create(all.context, addr, all.echo, &handle));
    OK(HG_Addr_free(all.cls, addr));
    busy_expect();
    OK(HG_Destroy(handle));
}

int main(void)
{
    FILE *log = NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    log = ranks_log_catch("warning");
    ranks_open(&all, MPI_COMM_WORLD);
    if (all.rank == all.size - 1) {
        busy_test();
        CHECK(ranks_log_has(log, "bulk handle"));
        CHECK(ranks_log_has(log, "address"));
        CHECK(ranks_log_has(log, "RPC handle"));
    }
    ranks_close(&all);
    return ranks_stop();
}
