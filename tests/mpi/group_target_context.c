/* SPDX-License-Identifier: BSD-3-Clause */
/* The target context of the handle holds for all ranks of a group, the caller
 * included; a rank without that context is named, and the ranks below it in the
 * tree are reached all the same. */
#include <string.h>

#include "group_calls.h"

enum { CALLS = 2 };

MERCURY_GEN_PROC(sum_t, ((uint64_t)(value)))

static struct ranks all;
static struct ranks second; /* context 1 of the same class */
static unsigned ran[2];     /* by context */

static hg_return_t ask_serve(hg_handle_t handle)
{
    sum_t out = {1ull << (4 * all.rank)};

    ran[HG_Context_get_id(HG_Get_info(handle)->context)]++;
    CHECK(HG_Get_info(handle)->context_id == 0); /* of the caller */
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

static void ask(hg_id_t id, int without)
{
    struct ranks_call call;
    uint64_t wanted = 0;
    sum_t out = {0};

    memset(&call, 0, sizeof(call));
    call.handle = group_handle(&all, id);
    OK(HG_Set_target_id(call.handle, 1));
    OK(amalgam_forward_group(
        call.handle, AMALGAM_GROUP_ALL, ranks_done, &call, NULL));
    (void)ranks_wait(&call);
    for (int rank = 0; rank < all.size; rank++)
        if (rank != without) {
            wanted += 1ull << (4 * rank);
            OK(group_code_of(call.handle, rank));
        }
    CHECK(group_failed_count(call.handle) == 1);
    CHECK(call.ret == group_code_of(call.handle, without));
    EXPECT(HG_NOENTRY, call.ret);
    if (wanted > 0) {
        OK(HG_Get_output(call.handle, &out));
        CHECK(out.value == wanted);
        OK(HG_Free_output(call.handle, &out));
    }
    ranks_end(&call);
}

int main(void)
{
    struct amalgam_options options = AMALGAM_OPTIONS_INITIALIZER;
    int without = 0;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    options.contexts = 2;
    ranks_open_with(&all, MPI_COMM_WORLD, &options);
    CHECK(all.size <= 16);
    HG_Set_log_level("none"); /* refusals are warnings */
    without = all.size / 2;
    second = all;
    if (all.rank != without) {
        second.context = HG_Context_create_id(all.cls, 1);
        CHECK(second.context != NULL);
        ranks_return(&second);
    }
    id = MERCURY_REGISTER(all.cls, "ask", void, sum_t, ask_serve);
    OK(amalgam_register_reduce(all.cls, id, sum_fold, NULL, sizeof(sum_t), 0));
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 0; i < CALLS; i++)
        ask(id, without);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(ran[0] == 0);
    CHECK(ran[1] == (all.rank == without ? 0u : CALLS * (unsigned)all.size));
    ranks_leave(&second);
    ranks_close(&all);
    return ranks_stop();
}
