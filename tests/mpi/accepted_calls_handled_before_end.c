/* SPDX-License-Identifier: BSD-3-Clause */
/* What was accepted before and while the ranks close is handled before the
 * first of them is closed.
 *
 *   met     rank 0 is in a long handler while the others make one-way calls to
 *           it and close; it has served all of them before
 *   first   the same with ranks that have never called it
 *   chain   one-way calls, and calls with a reply, whose handlers make the next
 *           one, to the next rank: most are made when all are closing
 *   bare    a chain of one-way calls without a handle alone
 *   long    short chains of calls with long replies, begun by all ranks */
#include <string.h>

#include "ranks.h"

enum {
    CALLS = 25, /* of each rank, of either kind: fewer than its credits */
    HOPS = 300, /* of a chain */
    SHORT_HOPS = 3,
    ROUNDS = 20,
    BUSY_MS = 700,     /* of the handler, when the others are closing */
    LONG_LEN = 100000, /* more than any message */
};

static struct ranks all;
static hg_id_t busy;
static hg_id_t bare; /* without a handle */
static hg_id_t hop;  /* the same */
static hg_id_t step; /* with a reply */
static unsigned long bare_came;
static unsigned long accepted;
static unsigned long hops;
static bool is_long;
static char bytes[LONG_LEN];

static void busy_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint64_t until_ns = 0;

    (void)hg_class;
    (void)from_rank;
    (void)arg;
    (void)len;
    for (int i = 1; i < all.size; i++)
        MPI_Send(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD);
    for (int i = 1; i < all.size; i++)
        MPI_Recv(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    until_ns = ranks_now_ns() + BUSY_MS * 1000000ull;
    while (ranks_now_ns() < until_ns)
        continue;
}

static void bare_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    CHECK(len == sizeof(int) && *(const int *)arg == from_rank);
    bare_came++;
}

static hg_addr_t rank_addr(int rank)
{
    hg_addr_t addr = HG_ADDR_NULL;

    OK(amalgam_addr_rank(all.cls, rank % all.size, &addr));
    return addr;
}

static void hop_send(uint64_t left)
{
    hg_addr_t next = rank_addr(all.rank + 1);

    OK(amalgam_forward_oneway(all.context, next, hop, &left, sizeof(left)));
    OK(HG_Addr_free(all.cls, next));
}

static void hop_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    uint64_t left = 0;

    (void)hg_class;
    (void)from_rank;
    CHECK(len == sizeof(left));
    memcpy(&left, arg, sizeof(left));
    hops++;
    if (left > 1)
        hop_send(left - 1);
}

static hg_return_t hg_proc_reply(hg_proc_t proc, void *data)
{
    return hg_proc_get_op(proc) == HG_FREE
               ? HG_SUCCESS
               : hg_proc_raw(proc, data, is_long ? LONG_LEN : 1);
}

static hg_return_t step_done(const struct hg_cb_info *info)
{
    CHECK(info->ret == HG_SUCCESS);
    return HG_Destroy(info->info.forward.handle);
}

static void step_send(uint64_t left)
{
    ranks_echo_t in = {left, all.rank};
    hg_addr_t next = rank_addr(all.rank + 1);
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(HG_Create(all.context, next, step, &handle));
    OK(HG_Forward(handle, step_done, NULL, &in));
    OK(HG_Addr_free(all.cls, next));
}

static hg_return_t step_serve(hg_handle_t handle)
{
    ranks_echo_t in;

    OK(HG_Get_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, bytes));
    hops++;
    if (in.value > 1)
        step_send(in.value - 1);
    OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static void calls_make(hg_addr_t to)
{
    hg_return_t ret = HG_SUCCESS;

    for (uint64_t i = 0; i < CALLS; i++) {
        ranks_echo_t in = {i, all.rank};
        hg_handle_t handle = HG_HANDLE_NULL;

        OK(HG_Create(all.context, to, all.note, &handle));
        OK(HG_Forward(handle, NULL, NULL, &in));
        OK(HG_Destroy(handle));
        ret = amalgam_forward_oneway(
            all.context, to, bare, &all.rank, sizeof(all.rank));
        CHECK(ret == HG_SUCCESS || ret == HG_AGAIN);
        accepted += 1 + (ret == HG_SUCCESS);
    }
}

/* By all but rank 0. */
static void busy_rank_call(void)
{
    hg_addr_t to = rank_addr(0);

    if (all.rank == 1)
        OK(amalgam_forward_oneway(all.context, to, busy, NULL, 0));
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    calls_make(to);
    OK(HG_Addr_free(all.cls, to));
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

static void came_check(unsigned long came, unsigned long wanted)
{
    unsigned long mine[2] = {came, wanted};
    unsigned long sums[2] = {0, 0};

    MPI_Reduce(mine, sums, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (all.rank == 0 && sums[0] != sums[1])
        fprintf(stderr, "%lu of %lu calls were handled\n", sums[0], sums[1]);
    CHECK(all.rank != 0 || sums[0] == sums[1]);
}

static void class_open(void)
{
    ranks_open(&all, MPI_COMM_WORLD);
    busy = amalgam_register_oneway(all.cls, "busy", busy_serve);
    bare = amalgam_register_oneway(all.cls, "bare", bare_serve);
    hop = amalgam_register_oneway(all.cls, "hop", hop_serve);
    step = HG_Register_name(
        all.cls, "step", hg_proc_ranks_echo_t, hg_proc_reply, step_serve);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What is lost is rare: many classes. */
static void test_long(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        class_open();
        for (unsigned i = 0; i < CALLS; i++)
            step_send(SHORT_HOPS);
        ranks_close(&all);
        came_check(hops, CALLS * SHORT_HOPS);
        hops = 0;
    }
}

static void test_chain(bool is_bare)
{
    class_open();
    if (all.rank == 0) {
        hop_send(HOPS);
        if (!is_bare)
            step_send(HOPS);
    }
    ranks_close(&all);
    came_check(hops, all.rank != 0 ? 0 : is_bare ? HOPS : 2 * HOPS);
}

static void test_busy(bool have_met)
{
    class_open();
    if (have_met) {
        ranks_exchange(&all);
        ranks_meet(MPI_COMM_WORLD);
    }
    if (all.rank != 0)
        busy_rank_call();
    ranks_close(&all);
    came_check(bare_came + all.noted, accepted);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    ranks_start(MPI_THREAD_MULTIPLE);
    is_long = strcmp(argv[1], "long") == 0;
    if (is_long)
        test_long();
    else if (strcmp(argv[1], "chain") == 0 || strcmp(argv[1], "bare") == 0)
        test_chain(argv[1][0] == 'b');
    else
        test_busy(strcmp(argv[1], "met") == 0);
    CHECK(all.bad == 0);
    return ranks_stop();
}
