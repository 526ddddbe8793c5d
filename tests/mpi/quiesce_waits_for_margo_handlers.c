/* SPDX-License-Identifier: BSD-3-Clause */
/* A quiescence waits for handlers of Margo that have answered and destroyed
 * their handles, and then yield and call on. */
#include "amalgam_group.h"
#include "margo_ranks.h"

enum { CALLS = 20, YIELDS = 200 };

static struct mranks all;
static hg_id_t hop;
static atomic_ulong begun;
static atomic_ulong ended;

MERCURY_GEN_PROC(hop_t, ((uint32_t)(left)))

static void call(uint32_t left)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hop_t in = {left};

    OK(margo_create(
        all.mid, all.addrs[(all.rank + 1) % all.size], hop, &handle));
    OK(margo_forward(handle, &in));
    OK(margo_destroy(handle));
}

static void hop_ult(hg_handle_t handle)
{
    hop_t in;

    atomic_fetch_add(&begun, 1);
    OK(margo_get_input(handle, &in));
    OK(margo_free_input(handle, &in));
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
    for (int i = 0; i < YIELDS; i++)
        ABT_thread_yield();
    if (in.left > 0)
        call(in.left - 1);
    atomic_fetch_add(&ended, 1);
}
DEFINE_MARGO_RPC_HANDLER(hop_ult)

static void is_over(hg_return_t ret, void *arg)
{
    OK(ret);
    ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0);
}

int main(void)
{
    ABT_eventual over = ABT_EVENTUAL_NULL;
    unsigned long mine[2] = {0};
    unsigned long sums[2] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    hop = MARGO_REGISTER(all.mid, "hop", hop_t, void, hop_ult);
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint32_t i = 0; i < CALLS; i++)
        call(i);
    ABT_eventual_create(0, &over);
    OK(amalgam_quiesce_start(margo_get_class(all.mid), is_over, &over));
    ABT_eventual_wait(over, NULL);
    ABT_eventual_free(&over);
    mine[0] = atomic_load(&begun);
    mine[1] = atomic_load(&ended);
    CHECK(mine[0] == mine[1]);
    MPI_Iallreduce(
        mine, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    while (flag == 0) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        ABT_thread_yield();
    }
    CHECK(sums[0] == (unsigned long)all.size * CALLS * (CALLS + 1) / 2);
    CHECK(sums[1] == sums[0]);
    mranks_close(&all);
    return ranks_stop();
}
