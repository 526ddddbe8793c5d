/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank with a progress thread answers while it computes, waits in
 * MPI_Barrier(), or sleeps: it does not return before its peers, which are
 * answered first, tell it to. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "exposed.h"
#include "main_only.h"

enum { CALLS = 20, LEN = 100003 };

static struct ranks all;
static hg_id_t tell;  /* one more rank has all its replies */
static hg_id_t relay; /* its handler calls echo at the given rank */
static atomic_int told;
static atomic_int told_by_main; /* of them, those served by the first thread */
static sem_t told_all;
static pthread_t main_thread;

static hg_return_t tell_serve(hg_handle_t handle)
{
    if (pthread_equal(pthread_self(), main_thread))
        atomic_fetch_add(&told_by_main, 1);
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    if (atomic_fetch_add(&told, 1) + 1 == all.size - 1)
        sem_post(&told_all);
    return HG_SUCCESS;
}

static hg_return_t relayed(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->arg;
    ranks_echo_t out;

    OK(info->ret);
    OK(HG_Get_output(info->info.forward.handle, &out));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Free_output(info->info.forward.handle, &out));
    OK(HG_Destroy(info->info.forward.handle));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static hg_return_t relay_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_handle_t onward = HG_HANDLE_NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    ranks_echo_t in;
    int to = 0;

    OK(HG_Get_input(handle, &in));
    to = in.from; /* here: the rank to call */
    in.from = all.rank;
    OK(amalgam_addr_rank(all.cls, to, &addr));
    OK(HG_Create(info->context, addr, all.echo, &onward));
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Forward(onward, relayed, handle, &in));
    OK(HG_Free_input(handle, &in));
    return HG_SUCCESS;
}

/* Long, and without any call. */
static void compute(void)
{
    volatile double sum = 0;

    while (atomic_load(&told) < all.size - 1)
        for (int i = 1; i < 1000; i++)
            sum = sum + 1.0 / i;
}

static void rest(void)
{
    while (sem_wait(&told_all) != 0)
        CHECK(errno == EINTR);
}

/* Memory that the busy rank exposes: a part for each of the others, and one
 * that all read. */
static size_t part(int rank)
{
    return (size_t)rank * LEN;
}

static void bulk_use(int busy, hg_bulk_t lent)
{
    unsigned char *bytes = malloc(LEN);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_bulk_t local = HG_BULK_NULL;

    CHECK(bytes != NULL);
    local = ranks_bulk(&all, bytes, LEN, HG_BULK_READWRITE);
    OK(amalgam_addr_rank(all.cls, busy, &addr));
    OK(ranks_transfer(
        &all, HG_BULK_PULL, addr, lent, part(busy), local, 0, LEN));
    CHECK(ranks_is_filled(bytes, LEN, (uint64_t)busy, 0));
    ranks_fill(bytes, LEN, (uint64_t)all.rank, 0);
    OK(ranks_transfer(
        &all, HG_BULK_PUSH, addr, lent, part(all.rank), local, 0, LEN));
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Bulk_free(local));
    free(bytes);
}

static void calls_make(int busy)
{
    struct ranks_call call;

    for (uint64_t i = 0; i < CALLS; i++)
        ranks_echo(&all, busy, i);
    ranks_swap(&all, busy, LEN);
    ranks_swap(&all, busy, 64);
    OK(ranks_begin(&all, &call, busy, tell, NULL));
    OK(ranks_wait(&call));
    ranks_end(&call);
}

static void relay_make(int over, int to)
{
    ranks_echo_t in = {1000, to};
    ranks_echo_t out = {0, 0};
    struct ranks_call call;

    OK(ranks_begin(&all, &call, over, relay, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    CHECK(out.value == 1001 && out.from == to);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
}

static bool is_how(const char *how, const char *name)
{
    return strcmp(how, name) == 0;
}

/* The busy rank makes no progress until the others have all replies. */
static void busy_turn(const char *how, unsigned long echoed)
{
    atomic_store(&told_by_main, 0);
    ranks_leave(&all);
    if (is_how(how, "compute"))
        compute();
    else if (is_how(how, "asleep"))
        rest();
    else
        MPI_Barrier(MPI_COMM_WORLD);
    if (is_how(how, "bulk"))
        return;
    CHECK(atomic_load(&told) == all.size - 1);
    CHECK(atomic_load(&told_by_main) == 0);
    CHECK(atomic_load(&all.echoed) - echoed ==
          (unsigned long)CALLS * (all.size - 1ul));
}

static void others_turn(const char *how, int busy, hg_bulk_t lent)
{
    bulk_use(busy, lent);
    if (!is_how(how, "bulk"))
        calls_make(busy);
    if (is_how(how, "barrier") || is_how(how, "bulk"))
        MPI_Barrier(MPI_COMM_WORLD);
}

static void round_make(const char *how, int busy)
{
    unsigned long echoed = atomic_load(&all.echoed);
    unsigned char *bytes = NULL;
    hg_bulk_t lent = HG_BULK_NULL;

    atomic_store(&told, 0);
    if (busy == all.rank) {
        bytes = malloc(part(all.size));
        CHECK(bytes != NULL);
        ranks_fill(bytes + part(busy), LEN, (uint64_t)busy, 0);
        lent = ranks_bulk(&all, bytes, part(all.size), HG_BULK_READWRITE);
        for (int rank = 0; rank < all.size; rank++)
            if (rank != busy)
                exposed_send(lent, rank);
        ranks_meet(MPI_COMM_WORLD);
        busy_turn(how, echoed);
        ranks_return(&all);
        for (int rank = 0; rank < all.size; rank++)
            CHECK(ranks_is_filled(bytes + part(rank), LEN, (uint64_t)rank, 0));
    } else {
        lent = exposed_take(&all, busy);
        ranks_meet(MPI_COMM_WORLD);
        others_turn(how, busy, lent);
    }
    OK(HG_Bulk_free(lent));
    ranks_meet(MPI_COMM_WORLD);
    free(bytes);
}

/* All serve all; posts of their handlers arrive, also where only the first
 * thread may send them. */
static void posts_make(void)
{
    int over = (all.rank + 1) % all.size;

    ranks_exchange(&all);
    for (int to = 0; to < all.size; to++)
        relay_make(over, to);
    ranks_meet(MPI_COMM_WORLD);
}

static int level_of(const char *name)
{
    if (is_how(name, "single"))
        return MPI_THREAD_SINGLE;
    if (is_how(name, "funneled"))
        return MPI_THREAD_FUNNELED;
    return is_how(name, "serialized") ? MPI_THREAD_SERIALIZED
                                      : MPI_THREAD_MULTIPLE;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 || argc == 3);
    ranks_start(argc == 3 ? level_of(argv[2]) : MPI_THREAD_MULTIPLE);
    main_thread = pthread_self();
    sem_init(&told_all, 0, 0);
    HG_Set_log_level("error");
    ranks_open(&all, MPI_COMM_WORLD);
    tell = MERCURY_REGISTER(all.cls, "tell", void, void, tell_serve);
    relay = MERCURY_REGISTER(
        all.cls, "relay", ranks_echo_t, ranks_echo_t, relay_serve);
    CHECK(tell != 0 && relay != 0);
    ranks_meet(MPI_COMM_WORLD);
    main_only_watch(argc == 3);
    if (is_how(argv[1], "posts")) {
        posts_make();
    } else {
        round_make(argv[1], 0);
        round_make(argv[1], all.size - 1);
    }
    main_only_watch(false);
    ranks_close(&all);
    sem_destroy(&told_all);
    return ranks_stop();
}
