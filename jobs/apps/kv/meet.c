/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier of all ranks for user-level threads.
 *
 * MPI_Barrier() would block the stream, and with it the handlers that others
 * wait for. So each rank makes a call to rank 0, whose handlers wait for each
 * other: a blocked handler takes a stack and no core. */
#include "jobs/apps/kv/meet.h"

#include "amalgam_margo.h"

/* Longer than any phase of the job takes. */
static const double patience_ms = 120000.0;

static void kv_meet(hg_handle_t handle)
{
    struct meet *meet = margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);

    ABT_barrier_wait(meet->barrier);
    margo_respond(handle, NULL);
    margo_destroy(handle);
}
DEFINE_MARGO_RPC_HANDLER(kv_meet)

hg_return_t meet_open(struct meet *meet, margo_instance_id mid)
{
    hg_class_t *cls = margo_get_class(mid);
    int rank = 0;
    int ranks = 0;
    hg_return_t ret = amalgam_class_ranks(cls, &rank, &ranks);

    meet->mid = mid;
    meet->first = HG_ADDR_NULL;
    meet->barrier = ABT_BARRIER_NULL;
    if (ret != HG_SUCCESS)
        return ret;
    if (rank == 0 &&
        ABT_barrier_create((uint32_t)ranks, &meet->barrier) != ABT_SUCCESS)
        return HG_NOMEM;
    /* Only rank 0 is called. */
    meet->id = MARGO_REGISTER(mid, "kv_meet", void, void, kv_meet);
    ret = margo_register_data(mid, meet->id, meet, NULL);
    if (ret != HG_SUCCESS)
        return ret;
    return amalgam_addr_rank(cls, 0, &meet->first);
}

void meet_close(struct meet *meet)
{
    if (meet->first != HG_ADDR_NULL)
        margo_addr_free(meet->mid, meet->first);
    meet->first = HG_ADDR_NULL;
}

hg_return_t meet_wait(struct meet *meet)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = margo_create(meet->mid, meet->first, meet->id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = margo_forward_timed(handle, NULL, patience_ms);
    margo_destroy(handle);
    return ret;
}
