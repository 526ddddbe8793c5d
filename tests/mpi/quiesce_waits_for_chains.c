/* SPDX-License-Identifier: BSD-3-Clause */
/* A quiescence ends when all calls have ended, and all that their handlers and
 * callbacks have called: two-way and one-way calls, with and without a handle,
 * answers that come late or before the handler calls on, bulk transfers, calls
 * to groups. One quiescence follows the other, in both forms, and a rank enters
 * late: quiesce_waits_for_chains ROUNDS BUDGET. */
#include <stdlib.h>
#include <string.h>

#include "amalgam_group.h"
#include "amalgam_oneway.h"
#include "ranks.h"

enum { PULL_LEN = 3000, TURNS = 100 };

static struct ranks all;
static hg_id_t hop, drop, note, each, pull;

/* What this rank has done. The ranks' sums are compared after a quiescence. */
static struct {
    atomic_ulong called;  /* handlers that must run */
    atomic_ulong ran;     /* handlers that have run */
    atomic_ulong awaited; /* callbacks that must run */
    atomic_ulong ended;   /* callbacks that have run */
} my;

/* A handler makes `left` calls, itself or by those that it calls. */
struct item {
    uint64_t seed;
    uint32_t left;
    hg_bulk_t bulk; /* of `pull` */
};

/* A call, and a call whose answer waits for it. */
struct call {
    hg_handle_t handle;
    hg_handle_t held;
    struct item item;
    char *bytes;
};

static char source[PULL_LEN];

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static hg_return_t item_code(hg_proc_t proc, void *data)
{
    struct item *item = data;
    hg_return_t rc = hg_proc_uint64_t(proc, &item->seed);

    return rc != HG_SUCCESS ? rc : hg_proc_uint32_t(proc, &item->left);
}

static hg_return_t pull_code(hg_proc_t proc, void *data)
{
    hg_return_t rc = item_code(proc, data);

    return rc != HG_SUCCESS
               ? rc
               : hg_proc_hg_bulk_t(proc, &((struct item *)data)->bulk);
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    OK(info->ret);
    if (call->held != HG_HANDLE_NULL) {
        OK(HG_Respond(call->held, NULL, NULL, NULL));
        OK(HG_Destroy(call->held));
    }
    if (call->item.bulk != HG_BULK_NULL)
        OK(HG_Bulk_free(call->item.bulk));
    OK(HG_Destroy(call->handle));
    free(call);
    my.ended++;
    return HG_SUCCESS;
}

static void call_send(hg_id_t id, int rank, struct item item, hg_handle_t held)
{
    struct call *call = calloc(1, sizeof(*call));
    hg_addr_t addr = HG_ADDR_NULL;

    call->item = item;
    call->held = held;
    my.called += id == each ? (unsigned)all.size : 1;
    my.awaited++;
    if (id == each) {
        OK(HG_Create(all.context, HG_ADDR_NULL, id, &call->handle));
        OK(amalgam_forward_group(
            call->handle, AMALGAM_GROUP_ALL, ended, call, &call->item));
        return;
    }
    if (id == pull)
        call->item.bulk =
            ranks_bulk(&all, source, sizeof(source), HG_BULK_READ_ONLY);
    OK(amalgam_addr_rank(all.cls, rank, &addr));
    OK(HG_Create(all.context, addr, id, &call->handle));
    OK(HG_Addr_free(all.cls, addr));
    OK(HG_Forward(call->handle, ended, call, &call->item));
}

static void call_make(uint64_t seed, uint32_t left)
{
    int rank = (int)(draw(&seed) % (unsigned)all.size);
    struct item item = {seed, left, HG_BULK_NULL};
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_AGAIN;

    switch (draw(&seed) % 6) {
    case 0:
        call_send(drop, rank, item, HG_HANDLE_NULL);
        return;
    case 1:
        OK(amalgam_addr_rank(all.cls, rank, &addr));
        rc = amalgam_forward_oneway(
            all.context, addr, note, &item, sizeof(item));
        OK(HG_Addr_free(all.cls, addr));
        my.called += rc == HG_SUCCESS;
        if (rc == HG_AGAIN)
            call_send(hop, rank, item, HG_HANDLE_NULL);
        return;
    case 2:
        if (left == 0) {
            call_send(each, 0, item, HG_HANDLE_NULL);
            return;
        }
        break;
    case 3:
        call_send(pull, rank, item, HG_HANDLE_NULL);
        return;
    default:
        break;
    }
    call_send(hop, rank, item, HG_HANDLE_NULL);
}

static void calls_make(uint64_t seed, uint32_t left)
{
    while (left > 0) {
        uint32_t share = (uint32_t)(draw(&seed) % left);

        left -= 1 + share;
        call_make(draw(&seed), share);
    }
}

/* Answers before or after this rank calls on, or after the next call. */
static hg_return_t hop_serve(hg_handle_t handle)
{
    struct item item;
    int next = 0;

    OK(HG_Get_input(handle, &item));
    OK(HG_Free_input(handle, &item));
    my.ran++;
    if (draw(&item.seed) % 3 == 0 && item.left > 0) {
        next = (int)(draw(&item.seed) % (unsigned)all.size);
        item.left--;
        call_send(hop, next, item, handle);
        return HG_SUCCESS;
    }
    if (draw(&item.seed) % 2 == 0) {
        calls_make(item.seed, item.left);
        item.left = 0;
    }
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    calls_make(item.seed, item.left);
    return HG_SUCCESS;
}

static hg_return_t drop_serve(hg_handle_t handle)
{
    struct item item;

    OK(HG_Get_input(handle, &item));
    OK(HG_Free_input(handle, &item));
    OK(HG_Destroy(handle));
    my.ran++;
    calls_make(item.seed, item.left);
    return HG_SUCCESS;
}

static void note_serve(
    hg_class_t *cls, int from_rank, const void *arg, size_t len)
{
    struct item item;

    (void)cls;
    CHECK(from_rank >= 0 && from_rank < all.size && len == sizeof(item));
    memcpy(&item, arg, sizeof(item));
    my.ran++;
    calls_make(item.seed, item.left);
}

static hg_return_t pulled(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    OK(info->ret);
    CHECK(ranks_is_filled(call->bytes, PULL_LEN, 5, 0));
    OK(HG_Free_input(call->held, &call->item));
    OK(HG_Respond(call->held, NULL, NULL, NULL));
    OK(HG_Destroy(call->held));
    OK(HG_Bulk_free(info->info.bulk.local_handle));
    my.ran++;
    calls_make(call->item.seed, call->item.left);
    free(call->bytes);
    free(call);
    return HG_SUCCESS;
}

static hg_return_t pull_serve(hg_handle_t handle)
{
    struct call *call = calloc(1, sizeof(*call));
    hg_bulk_t local = HG_BULK_NULL;

    call->held = handle;
    call->bytes = calloc(1, PULL_LEN);
    OK(HG_Get_input(handle, &call->item));
    local = ranks_bulk(&all, call->bytes, PULL_LEN, HG_BULK_WRITE_ONLY);
    OK(HG_Bulk_transfer(all.context, pulled, call, HG_BULK_PULL,
        HG_Get_info(handle)->addr, call->item.bulk, 0, local, 0, PULL_LEN,
        HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static void is_over(hg_return_t ret, void *arg)
{
    OK(ret);
    *(bool *)arg = true;
}

static void quiesce(bool starts)
{
    bool is_done = false;

    if (!starts) {
        OK(amalgam_quiesce(all.cls, 30000));
        return;
    }
    OK(amalgam_quiesce_start(all.cls, is_over, &is_done));
    EXPECT(HG_BUSY, amalgam_quiesce_start(all.cls, is_over, &is_done));
    EXPECT(HG_BUSY, amalgam_quiesce(all.cls, 0));
    UNTIL(is_done);
}

/* All calls of all ranks have ended, also those made since the last check. */
static void sums_check(void)
{
    unsigned long mine[] = {my.called, my.ran, my.awaited, my.ended};
    unsigned long sums[4] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Iallreduce(
        mine, sums, 4, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    UNTIL((MPI_Test(&request, &flag, MPI_STATUS_IGNORE), flag != 0));
    CHECK(sums[0] == sums[1] && sums[2] == sums[3]);
    CHECK(mine[1] == my.ran && mine[3] == my.ended);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    uint32_t budget = argc > 2 ? (uint32_t)atoi(argv[2]) : 12;
    hg_bool_t yes = 1;

    ranks_start(MPI_THREAD_FUNNELED);
    ranks_open(&all, MPI_COMM_WORLD);
    ranks_fill(source, sizeof(source), 5, 0);
    hop = HG_Register_name(all.cls, "hop", item_code, NULL, hop_serve);
    each = HG_Register_name(all.cls, "each", item_code, NULL, hop_serve);
    drop = HG_Register_name(all.cls, "drop", item_code, NULL, drop_serve);
    OK(HG_Registered_disable_response(all.cls, drop, yes));
    pull = HG_Register_name(all.cls, "pull", pull_code, NULL, pull_serve);
    note = amalgam_register_oneway(all.cls, "quiesce_note", note_serve);
    ranks_meet(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        uint64_t seed = (uint64_t)round * 1000 + (unsigned)all.rank;

        if (round % 4 != 3)
            calls_make(seed, budget);
        if (all.rank == round % all.size)
            for (int i = 0; i < TURNS; i++)
                ranks_turn();
        quiesce(draw(&seed) % 2 == 0);
        sums_check();
        /* Nothing was called since: the next one ends without calls. */
        quiesce(round % 2 == 0);
    }
    CHECK(my.called > 0 || budget == 0);
    ranks_close(&all);
    return ranks_stop();
}
