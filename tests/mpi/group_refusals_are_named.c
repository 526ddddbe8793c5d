/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that cannot answer a call to a group are named with their codes, and
 * all others run it once and keep their outputs: a rank without the RPC, a rank
 * that destroys the handle unanswered, and a rank without a context. With the
 * argument "late" a rank that registers the RPC late answers all the same. With
 * "first" the callback gets the code of the rank that failed first in time,
 * though a lower rank of the same part of the tree fails later. The failed
 * ranks of a gathering are given in HG_Trigger() only, also without a
 * callback. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group_calls.h"

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(way)))
MERCURY_GEN_PROC(sum_t, ((uint64_t)(value)))

enum way { DROP, FOLD, GATHER, WAYS };

static struct ranks all;
static hg_id_t ids[2]; /* without a reduction, and with one */
static atomic_uint ran;
static hg_return_t given[GROUP_RANKS_MAX];
static unsigned given_count[GROUP_RANKS_MAX];
static unsigned total;

static int stranger_of(void)
{
    return all.size / 2;
}

static int mute_of(void)
{
    return all.size - 1;
}

static void answer(hg_handle_t handle)
{
    sum_t out = {1ull << (4 * all.rank)};

    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    ask_t in;

    OK(HG_Get_input(handle, &in));
    OK(HG_Free_input(handle, &in));
    ran++;
    if (all.rank != mute_of())
        answer(handle);
    else
        OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

static void each(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    sum_t out = {0};

    CHECK(atomic_load(&((struct ranks_call *)arg)->done) == 0);
    given[rank] = ret;
    given_count[rank]++;
    total++;
    if (ret != HG_SUCCESS)
        return;
    OK(HG_Get_output(handle, &out));
    CHECK(out.value == 1ull << (4 * rank));
    OK(HG_Free_output(handle, &out));
}

static hg_return_t wanted_of(int rank)
{
    return rank == mute_of()       ? HG_CANCELED
           : rank == stranger_of() ? HG_NOENTRY
                                   : HG_SUCCESS;
}

static void result_check(struct ranks_call *call, enum way way)
{
    uint64_t sum = 0;
    size_t failed = 0;
    sum_t out = {0};

    CHECK(ranks_wait(call) != HG_SUCCESS);
    CHECK(call->ret == HG_CANCELED || call->ret == HG_NOENTRY);
    for (int rank = 0; rank < all.size; rank++) {
        hg_return_t wanted = wanted_of(rank);

        EXPECT(wanted, group_code_of(call->handle, rank));
        failed += wanted != HG_SUCCESS;
        if (wanted == HG_SUCCESS)
            sum += 1ull << (4 * rank);
        if (way == GATHER) {
            CHECK(given_count[rank] == 1);
            EXPECT(wanted, given[rank]);
        }
    }
    CHECK(group_failed_count(call->handle) == failed);
    if (way == FOLD && sum != 0) {
        OK(HG_Get_output(call->handle, &out));
        CHECK(out.value == sum);
        OK(HG_Free_output(call->handle, &out));
    } else {
        EXPECT(HG_FAULT, HG_Get_output(call->handle, &out));
    }
}

static void ask(enum way way)
{
    ask_t in = {(uint32_t)all.rank, way};
    struct ranks_call call;

    if (way == GATHER) {
        memset(given_count, 0, sizeof(given_count));
        memset(&call, 0, sizeof(call));
        total = 0;
        call.handle = group_handle(&all, ids[0]);
        OK(amalgam_forward_gather(
            call.handle, AMALGAM_GROUP_ALL, 0, each, ranks_done, &call, &in));
    } else {
        group_begin(&all, &call, AMALGAM_GROUP_ALL, ids[way == FOLD], 0, &in);
    }
    result_check(&call, way);
    if (way == GATHER)
        CHECK(total == (unsigned)all.size);
    ranks_end(&call);
}

static bool is_triggering;

static void each_refused(
    hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    (void)handle;
    (void)arg;
    CHECK(is_triggering && rank == (int)total);
    EXPECT(HG_INVALID_ARG, ret);
    total++;
}

/* All ranks have the RPC without a handler. */
static void gather_refused(hg_id_t id)
{
    hg_handle_t handle = group_handle(&all, id);

    total = 0;
    OK(amalgam_forward_gather(
        handle, AMALGAM_GROUP_ALL, 0, each_refused, NULL, NULL, NULL));
    while (total < (unsigned)all.size) {
        unsigned count = 0;

        (void)HG_Event_progress(all.context, &count);
        is_triggering = true;
        (void)HG_Event_trigger(all.context, 1, &count);
        is_triggering = false;
    }
    OK(HG_Destroy(handle));
}

static void ids_register(hg_rpc_cb_t serve)
{
    ids[0] = MERCURY_REGISTER(all.cls, "ask", ask_t, sum_t, serve);
    ids[1] = MERCURY_REGISTER(all.cls, "ask_sum", ask_t, sum_t, serve);
    OK(amalgam_register_reduce(
        all.cls, ids[1], sum_fold, NULL, sizeof(sum_t), 0));
}

/* The last rank registers when all others have called. */
static void late(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    ask_t in = {(uint32_t)all.rank, FOLD};
    struct ranks_call call;
    sum_t out = {0};

    if (all.rank == mute_of()) {
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(200000); /* makes it likely that the calls are here */
        ids_register(ask_serve);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    } else {
        ids_register(ask_serve);
        group_begin(&all, &call, AMALGAM_GROUP_ALL, ids[1], 0, &in);
        MPI_Barrier(MPI_COMM_WORLD);
        (void)ranks_wait(&call);
        EXPECT(HG_CANCELED, call.ret); /* the mute one */
        CHECK(group_failed_count(call.handle) == 1);
        EXPECT(HG_CANCELED, group_code_of(call.handle, mute_of()));
        if (all.size > 1) {
            OK(HG_Get_output(call.handle, &out));
            OK(HG_Free_output(call.handle, &out));
        }
        ranks_end(&call);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    for (int flag = 0; flag == 0;) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        ranks_turn();
    }
    CHECK(ran == (unsigned)all.size - 1);
}

static hg_handle_t kept;

static hg_return_t keep_serve(hg_handle_t handle)
{
    if (all.rank == 1)
        kept = handle;
    else
        answer(handle);
    return HG_SUCCESS;
}

static uint64_t replies_count(void)
{
    struct hg_diag_counters counters;

    OK(HG_Class_get_counters(all.cls, &counters));
    return counters.rpc_resp_recv_count;
}

/* Rank 1 destroys its handle when it knows that rank 2 has refused. */
static void first(void)
{
    hg_id_t id = MERCURY_REGISTER(
        all.cls, "keep", void, sum_t, all.rank == 2 ? NULL : keep_serve);
    uint64_t before = replies_count();
    struct ranks_call call;

    CHECK(all.size == 8);
    ranks_meet(MPI_COMM_WORLD);
    if (all.rank == 0)
        group_begin(&all, &call, AMALGAM_GROUP_ALL, id, 0, NULL);
    if (all.rank == 1) {
        UNTIL(kept != HG_HANDLE_NULL && replies_count() > before);
        OK(HG_Destroy(kept));
    }
    if (all.rank == 0) {
        EXPECT(HG_INVALID_ARG, ranks_wait(&call));
        CHECK(group_failed_count(call.handle) == 2);
        EXPECT(HG_CANCELED, group_code_of(call.handle, 1));
        EXPECT(HG_INVALID_ARG, group_code_of(call.handle, 2));
        ranks_end(&call);
    }
    ranks_meet(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    hg_id_t refused = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    if (argc > 1) {
        HG_Set_log_level("error");
        if (strcmp(argv[1], "late") == 0)
            late();
        else
            first();
        ranks_close(&all);
        return ranks_stop();
    }
    CHECK(all.size <= 16);
    HG_Set_log_level("none"); /* refusals are warnings, no output an error */
    if (all.rank != stranger_of() || all.rank == mute_of())
        ids_register(ask_serve);
    refused = MERCURY_REGISTER(all.cls, "refused", void, void, NULL);
    ranks_meet(MPI_COMM_WORLD);
    gather_refused(refused);
    for (enum way way = DROP; way < WAYS; way++)
        if (ids[0] != 0)
            ask(way);
    ranks_meet(MPI_COMM_WORLD);
    if (ids[0] != 0)
        CHECK(
            ran == (unsigned)(all.size - (stranger_of() != mute_of())) * WAYS);
    ranks_close(&all);
    return ranks_stop();
}
