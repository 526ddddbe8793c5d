/* SPDX-License-Identifier: BSD-3-Clause */
/* A long transfer that is cancelled in the middle ends as cancelled, and its
 * memory may be unmapped at once: it is not accessed after the callback. Run
 * with AMALGAM_FRAGMENT_BYTES set low. */
#include <string.h>
#include <sys/mman.h>

#include "exposed.h"

enum { LEN = 64 << 20, TIMES = 4 };

static struct ranks all;

static unsigned char *memory_map(void)
{
    void *bytes = mmap(
        NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(bytes != MAP_FAILED);
    return bytes;
}

/* Cancels after some fragments have moved. */
static void cancel_one(hg_addr_t addr, hg_bulk_t origin, hg_bulk_op_t op)
{
    unsigned char *bytes = memory_map();
    hg_bulk_t local = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    hg_op_id_t id = HG_OP_ID_NULL;
    struct ranks_call call;

    if (op == HG_BULK_PUSH)
        memset(bytes, 0x5a, LEN); /* value that the next pull has to write */
    memset(&call, 0, sizeof(call));
    OK(HG_Bulk_transfer(all.context, ranks_done, &call, op, addr, origin, 0,
        local, 0, LEN, &id));
    if (op == HG_BULK_PULL)
        UNTIL(bytes[3 * 4096] != 0);
    else
        for (int i = 0; i < 200; i++)
            ranks_turn();
    OK(HG_Bulk_cancel(id));
    (void)ranks_wait(&call);
    CHECK(call.ret == HG_CANCELED || call.ret == HG_SUCCESS);
    OK(HG_Bulk_free(local));
    munmap(bytes, LEN);
}

static void exposer_run(void)
{
    unsigned char *bytes = memory_map();
    hg_bulk_t bulk = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);

    memset(bytes, 0x5a, LEN);
    for (int rank = 1; rank < all.size; rank++)
        exposed_send(bulk, rank);
    ranks_meet(MPI_COMM_WORLD);
    OK(HG_Bulk_free(bulk));
    munmap(bytes, LEN);
}

static void canceller_run(void)
{
    hg_bulk_t origin = exposed_take(&all, 0);
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all.cls, 0, &addr));
    for (int i = 0; i < TIMES; i++) {
        cancel_one(addr, origin, HG_BULK_PULL);
        cancel_one(addr, origin, HG_BULK_PUSH);
        ranks_echo(&all, 0, 1);
    }
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(origin));
    ranks_meet(MPI_COMM_WORLD);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    if (all.rank == 0)
        exposer_run();
    else
        canceller_run();
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
