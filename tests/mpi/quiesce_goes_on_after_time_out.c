/* SPDX-License-Identifier: BSD-3-Clause */
/* While a rank is missing, or keeps a call, quiescences of other ranks time out
 * and send no message over MPI; the next call of a rank goes on with its
 * quiescence, which ends when all ranks are idle. A context that ends cancels a
 * quiescence. */
#include "amalgam_group.h"
#include "ranks.h"

enum { WAIT_MS = 2, WAITS = 40, LONG_MS = 30000 };

static struct ranks all;
static hg_handle_t held;
static atomic_ulong sent; /* messages, over MPI */

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int rank,
    int tag, MPI_Comm comm, MPI_Request *request)
{
    atomic_fetch_add(&sent, 1);
    return PMPI_Isend(bytes, count, type, rank, tag, comm, request);
}

static hg_return_t keep(hg_handle_t handle)
{
    held = handle;
    return HG_SUCCESS;
}

static void is_over(hg_return_t ret, void *arg)
{
    *(hg_return_t *)arg = ret;
}

/* All ranks but rank 0 time out, which only serves. */
static void miss_rank(void)
{
    hg_return_t ret = HG_SUCCESS;

    for (int i = 0; all.rank != 0 && i < WAITS; i++)
        EXPECT(HG_TIMEOUT, amalgam_quiesce(all.cls, WAIT_MS));
    if (all.rank != 0)
        EXPECT(HG_BUSY, amalgam_quiesce_start(all.cls, is_over, &ret));
    ranks_meet(MPI_COMM_WORLD);
    OK(amalgam_quiesce(all.cls, LONG_MS));
}

/* The last rank keeps a call while all time out. */
static void keep_call(hg_id_t id)
{
    struct ranks_call call = {0};
    unsigned long before = 0;

    if (all.rank == 0)
        OK(ranks_begin(&all, &call, all.size - 1, id, NULL));
    if (all.rank == all.size - 1)
        UNTIL(held != HG_HANDLE_NULL);
    for (int part = 0; part < 3; part++) {
        ranks_meet(MPI_COMM_WORLD);
        before = atomic_load(&sent);
        for (int i = 0; i < WAITS; i++)
            EXPECT(HG_TIMEOUT, amalgam_quiesce(all.cls, WAIT_MS));
    }
    CHECK(atomic_load(&sent) == before);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == all.size - 1) {
        OK(HG_Respond(held, NULL, NULL, NULL));
        OK(HG_Destroy(held));
    }
    OK(amalgam_quiesce(all.cls, LONG_MS));
    if (all.rank == 0) {
        CHECK(atomic_load(&call.done) == 1);
        ranks_end(&call);
    }
}

int main(void)
{
    hg_return_t ret = HG_AGAIN;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_FUNNELED);
    ranks_open(&all, MPI_COMM_WORLD);
    id = HG_Register_name(all.cls, "keep", NULL, NULL, keep);
    ranks_meet(MPI_COMM_WORLD);
    miss_rank();
    keep_call(id);
    for (int i = 0; i < 100; i++)
        OK(amalgam_quiesce(all.cls, LONG_MS));
    /* Rank 0 does not enter; the others are cancelled when they end. */
    if (all.rank != 0 && all.rank % 2 == 0)
        EXPECT(HG_TIMEOUT, amalgam_quiesce(all.cls, WAIT_MS));
    else if (all.rank != 0)
        OK(amalgam_quiesce_start(all.cls, is_over, &ret));
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank % 2 == 1) {
        EXPECT(HG_BUSY, HG_Context_destroy(all.context));
        UNTIL(ret != HG_AGAIN);
        EXPECT(HG_CANCELED, ret);
    }
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
