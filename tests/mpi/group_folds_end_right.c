/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups end right if the folding of their outputs is disturbed at the
 * root. If the root deregisters the RPC between two outputs, the outputs are
 * folded all the same. If the root cannot decode one of the outputs, or cannot
 * encode the folded one, HG_Get_output() refuses, also if a rank has failed. */
#include <stdlib.h>

#include "group_calls.h"

typedef struct {
    uint64_t value;
} sum_t;

enum fault { NONE, DECODE, ENCODE, FAULTS };

static struct ranks all;
static hg_handle_t kept;     /* at the last rank */
static enum fault fault;     /* of the root */
static unsigned decoded;     /* outputs */
static char longer[1 << 20]; /* than what a proc encodes without memory */

static uint64_t value_of(int rank)
{
    return 1ull << (4 * rank);
}

static bool is_last(void)
{
    return all.rank == all.size - 1;
}

static hg_return_t sum_code(hg_proc_t proc, void *data)
{
    sum_t *sum = data;
    bool is_own = false;
    hg_return_t rc = hg_proc_uint64_t(proc, &sum->value);

    is_own = sum->value == value_of(all.rank);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return rc;
    if (hg_proc_get_op(proc) == HG_DECODE) {
        decoded++;
        return fault == DECODE && is_own ? HG_PROTOCOL_ERROR : HG_SUCCESS;
    }
    if (fault != ENCODE || is_own)
        return HG_SUCCESS;
    OK(hg_proc_bytes(proc, longer, sizeof(longer)));
    return HG_OTHER_ERROR;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

static void answer(hg_handle_t handle)
{
    sum_t out = {value_of(all.rank)};

    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
}

/* The input says if the last rank answers later; else it never does. */
static hg_return_t ask_serve(hg_handle_t handle)
{
    uint32_t keeps = 0;

    OK(HG_Get_input(handle, &keeps));
    OK(HG_Free_input(handle, &keeps));
    if (!is_last())
        answer(handle);
    else if (keeps != 0)
        kept = handle;
    else
        OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void fault_check(hg_id_t id)
{
    struct ranks_call call;
    uint32_t keeps = 0;
    sum_t out = {0};

    group_begin(&all, &call, AMALGAM_GROUP_ALL, id, 0, &keeps);
    CHECK(ranks_wait(&call) != HG_SUCCESS);
    fault = NONE;
    CHECK(group_failed_count(call.handle) == 1);
    EXPECT(HG_CANCELED, group_code_of(call.handle, all.size - 1));
    EXPECT(HG_FAULT, HG_Get_output(call.handle, &out));
    ranks_end(&call);
}

static void deregistered_check(hg_id_t id)
{
    struct ranks_call call;
    uint32_t keeps = 1;
    uint64_t wanted = 0;
    sum_t out = {0};

    decoded = 0;
    if (all.rank == 0) {
        group_begin(&all, &call, AMALGAM_GROUP_ALL, id, 0, &keeps);
        UNTIL(decoded > 0);
        OK(HG_Deregister(all.cls, id));
    }
    ranks_meet(MPI_COMM_WORLD);
    if (is_last()) {
        UNTIL(kept != HG_HANDLE_NULL);
        answer(kept);
    }
    if (all.rank == 0) {
        OK(ranks_wait(&call));
        CHECK(group_failed_count(call.handle) == 0);
        for (int rank = 0; rank < all.size; rank++)
            wanted += value_of(rank);
        OK(HG_Get_output(call.handle, &out));
        CHECK(out.value == wanted);
        OK(HG_Free_output(call.handle, &out));
        ranks_end(&call);
    }
}

int main(void)
{
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= 16);
    id =
        HG_Register_name(all.cls, "ask", hg_proc_uint32_t, sum_code, ask_serve);
    OK(amalgam_register_reduce(all.cls, id, sum_fold, NULL, sizeof(sum_t), 0));
    HG_Set_log_level("none"); /* outputs that are not folded are errors */
    ranks_meet(MPI_COMM_WORLD);
    for (enum fault next = DECODE; next < FAULTS && all.size > 2; next++)
        if (all.rank == 0) {
            fault = next;
            fault_check(id);
        }
    ranks_meet(MPI_COMM_WORLD);
    if (all.size > 1)
        deregistered_check(id);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
