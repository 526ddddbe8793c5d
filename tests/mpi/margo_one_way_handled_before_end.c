/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_finalize() returns after the one-way calls of this rank were handled,
 * also by a rank that has work for seconds. */
#include <unistd.h>

#include "margo_ranks.h"

enum { CALLS = 6, WORK_US = 100000 };

static atomic_ulong handled;

static void work_ult(hg_handle_t handle)
{
    usleep(WORK_US); /* keeps the stream busy */
    atomic_fetch_add(&handled, 1);
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(work_ult)

int main(void)
{
    struct mranks all;
    unsigned long mine = 0;
    unsigned long sum = 0;
    hg_id_t work = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    work = MARGO_REGISTER(all.mid, "work", void, void, work_ult);
    OK(margo_registered_disable_response(all.mid, work, HG_TRUE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; all.rank != 0 && i < CALLS; i++) {
        hg_handle_t handle = HG_HANDLE_NULL;

        OK(margo_create(all.mid, all.addrs[0], work, &handle));
        OK(margo_forward(handle, NULL));
        OK(margo_destroy(handle));
    }
    mranks_close(&all);
    mine = atomic_load(&handled);
    MPI_Reduce(&mine, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(all.rank != 0 || sum == (unsigned long)(all.size - 1) * CALLS);
    return ranks_stop();
}
