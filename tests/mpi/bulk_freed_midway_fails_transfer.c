/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory may be freed and unmapped while a peer pulls from it or pushes
 * into it: HG_Bulk_free() returns when it is not accessed any more, the peer's
 * transfer ends with an error, and both go on. Run with AMALGAM_FRAGMENT_BYTES
 * set low. */
#include <string.h>
#include <sys/mman.h>

#include "exposed.h"

enum { LEN = 64 << 20, TIMES = 4 };

static struct ranks all;
static hg_id_t begun; /* one-way: fragments are moving now */
static atomic_int begun_count;

static hg_return_t begun_serve(hg_handle_t handle)
{
    atomic_fetch_add(&begun_count, 1);
    return HG_Destroy(handle);
}

static unsigned char *memory_map(void)
{
    void *bytes = mmap(
        NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(bytes != MAP_FAILED);
    memset(bytes, 0x5a, LEN);
    return bytes;
}

/* Exposes memory, and frees it once fragments move. */
static void exposer_round(hg_bulk_op_t op)
{
    unsigned char *bytes = memory_map();
    hg_bulk_t bulk = ranks_bulk(&all, bytes, LEN,
        op == HG_BULK_PULL ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY);
    int before = atomic_load(&begun_count);

    exposed_send(bulk, 1);
    UNTIL(atomic_load(&begun_count) > before);
    if (op == HG_BULK_PUSH)
        UNTIL(bytes[3 * 4096] != 0x5a);
    OK(HG_Bulk_free(bulk));
    munmap(bytes, LEN);
    ranks_meet(MPI_COMM_WORLD);
}

static void begun_tell(void)
{
    struct ranks_call call;

    OK(ranks_begin(&all, &call, 0, begun, NULL));
    OK(ranks_wait(&call));
    ranks_end(&call);
}

/* Returns the result of the transfer. */
static hg_return_t mover_round(hg_bulk_op_t op)
{
    hg_bulk_t origin = exposed_take(&all, 0);
    unsigned char *bytes = memory_map();
    hg_bulk_t local = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    hg_addr_t addr = HG_ADDR_NULL;
    struct ranks_call call;

    memset(&call, 0, sizeof(call));
    memset(bytes, 0, LEN);
    OK(amalgam_addr_rank(all.cls, 0, &addr));
    OK(HG_Bulk_transfer(all.context, ranks_done, &call, op, addr, origin, 0,
        local, 0, LEN, HG_OP_ID_IGNORE));
    if (op == HG_BULK_PULL)
        UNTIL(bytes[3 * 4096] != 0);
    begun_tell();
    (void)ranks_wait(&call);
    OK(HG_Bulk_free(local));
    munmap(bytes, LEN);
    /* The handle is invalid now. */
    bytes = memory_map();
    local = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    EXPECT(HG_NOENTRY, ranks_transfer(&all, op, addr, origin, 0, local, 0, 9));
    OK(HG_Bulk_free(local));
    munmap(bytes, LEN);
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(origin));
    ranks_meet(MPI_COMM_WORLD);
    return call.ret;
}

int main(void)
{
    static const hg_bulk_op_t ops[] = {HG_BULK_PULL, HG_BULK_PUSH};
    int stopped = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    begun = MERCURY_REGISTER(all.cls, "begun", void, void, begun_serve);
    OK(HG_Registered_disable_response(all.cls, begun, HG_TRUE));
    HG_Set_log_level("none"); /* each refusal is expected */
    for (int i = 0; i < 2 * TIMES; i++) {
        hg_return_t rc = HG_SUCCESS;

        if (all.rank == 0)
            exposer_round(ops[i % 2]);
        else
            rc = mover_round(ops[i % 2]);
        CHECK(rc == HG_SUCCESS || rc == HG_CANCELED || rc == HG_NOENTRY);
        stopped += rc != HG_SUCCESS;
    }
    CHECK(all.rank == 0 || stopped > 0);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
