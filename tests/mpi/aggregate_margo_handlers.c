/* SPDX-License-Identifier: BSD-3-Clause */
/* With AMALGAM_AGGREGATE=node, one-way calls to handlers of Margo: handlers
 * that yield, and that call the caller back, run once for each call. A
 * quiescence waits for them, and so does the end of the instance. */
#include "amalgam_group.h"
#include "amalgam_oneway.h"
#include "margo_ranks.h"

enum { CALLS = 200, YIELDS = 3 };

static struct mranks all;
static hg_id_t hop; /* its handler calls `note` */
static hg_id_t note;
static atomic_ulong calls; /* made here */
static atomic_ulong runs;  /* of handlers here */

static void call(int to, hg_id_t id)
{
    hg_return_t ret = HG_AGAIN;

    while ((ret = amalgam_forward_oneway(margo_get_context(all.mid),
                all.addrs[to], id, NULL, 0)) == HG_AGAIN)
        margo_thread_sleep(all.mid, 0.01);
    OK(ret);
    atomic_fetch_add(&calls, 1);
}

static void serve(hg_handle_t handle, bool calls_on)
{
    int from = -1;

    OK(amalgam_addr_get_rank(
        margo_get_class(all.mid), margo_get_info(handle)->addr, &from));
    CHECK(from >= 0 && from < all.size);
    for (int i = 0; i < YIELDS; i++)
        ABT_thread_yield();
    OK(margo_destroy(handle)); /* the message no longer needs a credit */
    if (calls_on)
        call(from, note);
    atomic_fetch_add(&runs, 1);
}

static void note_ult(hg_handle_t handle)
{
    serve(handle, false);
}
DEFINE_MARGO_RPC_HANDLER(note_ult)

static void hop_ult(hg_handle_t handle)
{
    serve(handle, true);
}
DEFINE_MARGO_RPC_HANDLER(hop_ult)

static void calls_make(hg_id_t id)
{
    for (int i = 0; i < CALLS; i++)
        for (int to = 0; to < all.size; to++)
            if (to != all.rank)
                call(to, id);
}

/* Has each call been handled? */
static void check(void)
{
    unsigned long sums[2] = {atomic_load(&calls), atomic_load(&runs)};

    MPI_Allreduce(
        MPI_IN_PLACE, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sums[0] == sums[1]);
}

static void is_over(hg_return_t ret, void *arg)
{
    OK(ret);
    ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0);
}

int main(void)
{
    ABT_eventual over = ABT_EVENTUAL_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    note = MARGO_REGISTER(all.mid, "note", void, void, note_ult);
    hop = MARGO_REGISTER(all.mid, "hop", void, void, hop_ult);
    OK(margo_registered_disable_response(all.mid, note, HG_TRUE));
    OK(margo_registered_disable_response(all.mid, hop, HG_TRUE));
    MPI_Barrier(MPI_COMM_WORLD);
    calls_make(hop);
    ABT_eventual_create(0, &over);
    OK(amalgam_quiesce_start(margo_get_class(all.mid), is_over, &over));
    ABT_eventual_wait(over, NULL);
    ABT_eventual_free(&over);
    check();
    calls_make(note);
    mranks_close(&all);
    check();
    return ranks_stop();
}
