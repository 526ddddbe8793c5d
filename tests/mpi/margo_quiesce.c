/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_quiesce() lets the other threads of its stream run, and waits for
 * handlers of Margo that call on after they have answered. After a time-out the
 * next call goes on with the wait. An instance may end during a quiescence. */
#include "amalgam_group_margo.h"
#include "margo_ranks.h"

#include <math.h>
#include <string.h>

enum { HOPS = 12, YIELDS = 50, WAITS = 5 };

MERCURY_GEN_PROC(hop_t, ((uint32_t)(left)))

static struct mranks all;
static hg_id_t hop;
static hg_id_t hold;
static ABT_eventual released;
static atomic_ulong counts[2]; /* handlers begun, handlers ended */
static atomic_ulong errors;    /* log lines */

static void line_drop(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void error_count(void *arg, const char *text)
{
    (void)arg;
    (void)text;
    atomic_fetch_add(&errors, 1);
}

static hg_handle_t handle_of(int rank, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(margo_create(all.mid, all.addrs[rank], id, &handle));
    return handle;
}

static void call(uint32_t left)
{
    hg_handle_t handle = handle_of((all.rank + 1) % all.size, hop);
    hop_t in = {left};

    OK(margo_forward(handle, &in));
    OK(margo_destroy(handle));
}

static void hop_serve(hg_handle_t handle)
{
    hop_t in;

    atomic_fetch_add(&counts[0], 1);
    OK(margo_get_input(handle, &in));
    OK(margo_free_input(handle, &in));
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
    for (int i = 0; i < YIELDS; i++)
        ABT_thread_yield();
    EXPECT(HG_OPNOTSUPPORTED, margo_quiesce(all.mid, 0));
    if (in.left > 0)
        call(in.left - 1);
    atomic_fetch_add(&counts[1], 1);
}
DEFINE_MARGO_RPC_HANDLER(hop_serve)

static void hold_serve(hg_handle_t handle)
{
    CHECK(ABT_eventual_wait(released, NULL) == ABT_SUCCESS);
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(hold_serve)

/* Waits until all ranks are here, and serves them. */
static void meet(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        ABT_thread_yield();
    }
}

static void is_over(hg_return_t ret, void *arg)
{
    (void)ret;
    (void)arg;
}

static void release(void *arg)
{
    (void)arg;
    CHECK(ABT_eventual_set(released, NULL, 0) == ABT_SUCCESS);
}

/* A handler of the last rank waits until a thread of its rank runs, which only
 * a rank that has left its thread to others can do. */
static void held_by_handler(void)
{
    hg_handle_t handle = handle_of(all.size - 1, hold);
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    margo_request request = MARGO_REQUEST_NULL;
    int flag = 0;

    if (all.rank == 0)
        OK(margo_iforward(handle, NULL, &request));
    meet();
    for (int i = 0; i < WAITS; i++)
        EXPECT(HG_TIMEOUT, margo_quiesce(all.mid, 1.5));
    EXPECT(HG_BUSY,
        amalgam_quiesce_start(margo_get_class(all.mid), is_over, NULL));
    meet();
    CHECK(ABT_self_get_last_pool(&pool) == ABT_SUCCESS);
    CHECK(ABT_thread_create(pool, release, NULL, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    OK(margo_quiesce(all.mid, 0));
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    if (all.rank == 0) {
        CHECK(margo_test(request, &flag) == 0 && flag);
        OK(margo_wait(request));
    }
    OK(margo_destroy(handle));
}

static void chains(double timeout_ms)
{
    unsigned long sums[2] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    for (uint32_t i = 0; i < HOPS; i++)
        call(i);
    OK(margo_quiesce(all.mid, timeout_ms));
    for (int i = 0; i < 2; i++)
        sums[i] = atomic_load(&counts[i]);
    CHECK(sums[0] == sums[1]);
    MPI_Iallreduce(MPI_IN_PLACE, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM,
        MPI_COMM_WORLD, &request);
    while (!flag) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        ABT_thread_yield();
    }
    CHECK(sums[0] % ((unsigned long)all.size * HOPS * (HOPS + 1) / 2) == 0);
    CHECK(sums[1] == sums[0]);
}

int main(int argc, char **argv)
{
    const struct margo_logger logger = {NULL, line_drop, line_drop, line_drop,
        line_drop, error_count, error_count};

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, argc > 1 && strcmp(argv[1], "served") == 0
                          ? &amalgam_margo_always_served
                          : NULL);
    CHECK(ABT_eventual_create(0, &released) == ABT_SUCCESS);
    CHECK(margo_set_logger(all.mid, &logger) == 0);
    hop = MARGO_REGISTER(all.mid, "hop", hop_t, void, hop_serve);
    hold = MARGO_REGISTER(all.mid, "hold", void, void, hold_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(HG_INVALID_ARG, margo_quiesce(MARGO_INSTANCE_NULL, 0));
    EXPECT(HG_INVALID_ARG, margo_quiesce(all.mid, -1));
    EXPECT(HG_INVALID_ARG, margo_quiesce(all.mid, nan("")));
    held_by_handler();
    chains(0);
    chains(40000);
    for (int i = 0; i < 20; i++)
        OK(margo_quiesce(all.mid, 0));
    if (all.rank % 2 == 1)
        EXPECT(HG_TIMEOUT, margo_quiesce(all.mid, 1));
    meet();
    CHECK(ABT_eventual_free(&released) == ABT_SUCCESS);
    errors = 0;
    mranks_close(&all);
    CHECK(errors == 0);
    return ranks_stop();
}
