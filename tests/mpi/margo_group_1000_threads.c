/* SPDX-License-Identifier: BSD-3-Clause */
/* 1,000 user-level threads of each rank call all ranks at a time, and each
 * blocks alone: all calls end, with the sum of all ranks. */
#include "margo_ranks.h"

#include "amalgam_group_margo.h"

enum { THREADS = 1000 };

MERCURY_GEN_PROC(number_t, ((uint64_t)(value)))

static struct mranks all;
static hg_id_t add_id;
static atomic_uint ended;

static void add_serve(hg_handle_t handle)
{
    number_t number;

    OK(margo_get_input(handle, &number));
    OK(margo_free_input(handle, &number));
    number.value += (uint64_t)all.rank;
    OK(margo_respond(handle, &number));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(add_serve)

static void add_fold(const void *from_out, void *inout_out, void *arg)
{
    const number_t *from = from_out;
    number_t *inout = inout_out;

    (void)arg;
    inout->value += from->value;
}

static void thread_main(void *arg)
{
    uint64_t size = (uint64_t)all.size;
    number_t number = {(uint64_t)(uintptr_t)arg};
    uint64_t wanted = number.value * size + size * (size - 1) / 2;
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(margo_create(all.mid, all.addrs[all.rank], add_id, &handle));
    OK(margo_forward_group(AMALGAM_GROUP_ALL, handle, &number));
    OK(margo_get_output(handle, &number));
    CHECK(number.value == wanted);
    OK(margo_free_output(handle, &number));
    OK(margo_destroy(handle));
    atomic_fetch_add(&ended, 1);
}

int main(void)
{
    static ABT_thread threads[THREADS];
    ABT_pool pool = ABT_POOL_NULL;

    ranks_start(MPI_THREAD_MULTIPLE);
    mranks_open(&all, NULL);
    add_id =
        MARGO_REGISTER(all.mid, "group_add", number_t, number_t, add_serve);
    OK(margo_register_reduce(
        all.mid, add_id, add_fold, NULL, sizeof(number_t), 0));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(margo_get_handler_pool(all.mid, &pool) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(ABT_thread_create(pool, thread_main, (void *)i,
                  ABT_THREAD_ATTR_NULL, &threads[i]) == ABT_SUCCESS);
    CHECK(ABT_thread_join_many(THREADS, threads) == ABT_SUCCESS);
    CHECK(ABT_thread_free_many(THREADS, threads) == ABT_SUCCESS);
    CHECK(atomic_load(&ended) == THREADS);
    mranks_close(&all);
    return ranks_stop();
}
