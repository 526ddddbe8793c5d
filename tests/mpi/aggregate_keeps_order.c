/* SPDX-License-Identifier: BSD-3-Clause */
/* With AMALGAM_AGGREGATE=node all ranks flood all others with one-way calls of
 * three RPCs, one of them with a handle: each call is handled once, with its
 * bytes and its caller, in the order of the calls of that caller. The class
 * ends right after the last call.
 *
 *   leaders    the calls go through leaders, which receive them, too
 *   created    the same, and the class has a callback for new handles
 *   irregular  the ranks of a node have no numbers in a row, and all calls go
 *              directly
 *   uneven     the first node has fewer ranks than the next, as irregular
 *   near       all ranks are on one node, as irregular
 *   late N     the last rank registers RPC N, of which all calls are, after
 *              calls have come */
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "mercury.h"
#include "mercury_class.h"
#include "mercury_proc.h"
#include "ranks.h"

enum {
    CALLS = 2000,
    CALLS_ALL = CALLS + CALLS / 4, /* with those right before the end */
    RANKS_CAP = 16,
    NAMES = 3
};

struct call {
    uint32_t number; /* of this caller to this target */
    uint32_t caller;
    unsigned char bytes[AMALGAM_ONEWAY_MAX - 8];
};

static struct ranks all;
static hg_id_t ids[NAMES];
static unsigned only = NAMES;    /* all calls are of this RPC; NAMES: of all */
static unsigned next[RANKS_CAP]; /* the number of the next call of a rank */
static bool has_come[RANKS_CAP][CALLS_ALL];
static atomic_ulong came;

static size_t len_of(unsigned number)
{
    return 8 + number * 7 % (sizeof(struct call) - 8 + 1);
}

static void call_take(int from, const void *arg, size_t len)
{
    struct call call;

    CHECK(len >= 8 && len <= sizeof(call));
    memcpy(&call, arg, len);
    CHECK(from >= 0 && from < all.size && call.caller == (unsigned)from);
    CHECK(call.number < CALLS_ALL && !has_come[from][call.number]);
    CHECK(call.number == next[from]);
    has_come[from][call.number] = true;
    next[from]++;
    CHECK(len == len_of(call.number));
    CHECK(ranks_is_filled(call.bytes, len - 8, call.number, 0));
    atomic_fetch_add(&came, 1);
}

static void bare_serve(hg_class_t *cls, int from, const void *arg, size_t len)
{
    (void)cls;
    call_take(from, arg, len);
}

static hg_return_t hg_proc_call(hg_proc_t proc, void *data)
{
    if (hg_proc_get_op(proc) != HG_DECODE)
        return HG_SUCCESS;
    memset(data, 0, sizeof(struct call) + sizeof(size_t));
    *(size_t *)data = hg_proc_get_size_left(proc);
    return hg_proc_raw(proc, (size_t *)data + 1, *(size_t *)data);
}

static hg_return_t handle_serve(hg_handle_t handle)
{
    struct {
        size_t len;
        struct call call;
    } in;
    int from = -1;

    OK(HG_Get_input(handle, &in));
    OK(amalgam_addr_get_rank(all.cls, HG_Get_info(handle)->addr, &from));
    call_take(from, &in.call, in.len);
    OK(HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static hg_return_t handle_created(hg_handle_t handle, void *arg)
{
    (void)arg;
    return HG_Set_data(handle, &all, NULL);
}

static void names_register(void)
{
    ids[0] = amalgam_register_oneway(all.cls, "bare", bare_serve);
    ids[1] = amalgam_register_oneway(all.cls, "bare too", bare_serve);
    ids[2] = HG_Register_name(
        all.cls, "by a handle", hg_proc_call, NULL, handle_serve);
    OK(HG_Registered_disable_response(all.cls, ids[2], HG_TRUE));
}

/* Makes the calls with these numbers to all other ranks. */
static void calls_make(unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        for (int to = 0; to < all.size; to++) {
            struct call call = {.number = i, .caller = (uint32_t)all.rank};
            hg_addr_t addr = HG_ADDR_NULL;
            hg_id_t id = ids[only < NAMES ? only : i / 3 % NAMES];
            hg_return_t ret = HG_AGAIN;

            if (to == all.rank)
                continue;
            OK(amalgam_addr_rank(all.cls, to, &addr));
            ranks_fill(call.bytes, len_of(i) - 8, i, 0);
            while ((ret = amalgam_forward_oneway(
                        all.context, addr, id, &call, len_of(i))) == HG_AGAIN)
                ranks_turn();
            OK(ret);
            OK(HG_Addr_free(all.cls, addr));
        }
}

static uint64_t calls_came(void)
{
    struct hg_diag_counters counters;

    OK(HG_Class_get_counters(all.cls, &counters));
    return counters.rpc_req_recv_count;
}

int main(int argc, char **argv)
{
    bool is_irregular = strcmp(argv[1], "irregular") == 0;
    bool is_uneven = strcmp(argv[1], "uneven") == 0;
    bool is_direct = is_irregular || is_uneven || strcmp(argv[1], "near") == 0;
    uint64_t sums[2] = {0, 0};
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(argc > 1);
    MPI_Comm_split(MPI_COMM_WORLD, is_uneven && rank == 0,
        is_irregular ? rank % 2 * RANKS_CAP + rank : rank, &comm);
    ranks_open(&all, comm);
    CHECK(all.size <= RANKS_CAP);
    if (strcmp(argv[1], "created") == 0)
        OK(HG_Class_set_handle_create_callback(all.cls, handle_created, NULL));
    if (argc > 2)
        only = (unsigned)atoi(argv[2]);
    if (only < NAMES && all.rank == all.size - 1)
        while (calls_came() == 0)
            continue;
    names_register();
    if (only == NAMES)
        MPI_Barrier(comm);
    calls_make(0, CALLS);
    UNTIL(atomic_load(&came) == (unsigned long)CALLS * (all.size - 1));
    ranks_meet(comm);
    sums[0] = calls_came();
    sums[1] = atomic_load(&came);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    CHECK((sums[0] > sums[1]) == !is_direct);
    calls_make(CALLS, CALLS_ALL);
    ranks_close(&all);
    CHECK(atomic_load(&came) == (unsigned long)CALLS_ALL * (all.size - 1));
    MPI_Comm_free(&comm);
    return ranks_stop();
}
