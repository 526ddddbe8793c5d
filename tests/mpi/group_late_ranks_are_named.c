/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that make progress, but run no callbacks, end a call to a group only if
 * its time is over or the caller cancels it ("cancel"): then exactly these
 * ranks are named, with HG_TIMEOUT or HG_CANCELED, the outputs of the others
 * are folded, and the handlers of the named ranks do not run later. With the
 * argument "above" the caller is on the last of three nodes of two ranks: it
 * names a silent leader of the second node and the rank below that leader, but
 * not the ranks of the first node, above them. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { ROUNDS = 6, TIMEOUT_MS = 200, TIMEOUT_MAX_MS = 3000 };

MERCURY_GEN_PROC(sum_t, ((uint64_t)(value)))

static struct ranks all;
static hg_id_t ids[2]; /* without a reduction, and with one */
static unsigned ran;
static bool cancels;
static bool is_above;
static int root;

/* Sleepers of a round; the root calls and never sleeps. */
static bool is_sleeper(int rank, int round)
{
    if (is_above)
        return rank == 2;
    return rank > 0 && (rank + round) % (2 + round % 3) == 0;
}

/* With a reduction, a sleeper may hold back the answers of ranks below it. */
static bool folds(int round)
{
    return is_above || round % 2 == 1;
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    sum_t out = {1ull << (4 * all.rank)};

    ran++;
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

/* Each sleeper is named. False: ranks are named that none holds back, too. */
static bool sleepers_check(struct ranks_call *call, int round)
{
    bool is_exact = true;
    uint64_t wanted = 0;
    sum_t out = {0};

    for (int rank = 0; rank < all.size; rank++)
        if (is_sleeper(rank, round))
            EXPECT(cancels ? HG_CANCELED : HG_TIMEOUT,
                group_code_of(call->handle, rank));
        else if (group_code_of(call->handle, rank) == HG_SUCCESS)
            wanted += 1ull << (4 * rank);
        else if (!is_above || rank != 3)
            is_exact = false;
    if (wanted > 0 && folds(round)) {
        OK(HG_Get_output(call->handle, &out));
        CHECK(out.value == wanted);
        OK(HG_Free_output(call->handle, &out));
    }
    return is_exact;
}

static bool ask(int round, bool has_sleepers, unsigned timeout_ms)
{
    struct ranks_call call;
    bool is_exact = false;

    group_begin(&all, &call, AMALGAM_GROUP_ALL, ids[folds(round)],
        cancels || !has_sleepers ? 0 : timeout_ms, NULL);
    if (cancels && has_sleepers) {
        uint64_t end_ns = ranks_now_ns() + timeout_ms * 1000000ull;

        while (ranks_now_ns() < end_ns)
            ranks_turn();
        OK(HG_Cancel(call.handle));
    }
    (void)ranks_wait(&call);
    if (has_sleepers)
        EXPECT(cancels ? HG_CANCELED : HG_TIMEOUT, call.ret);
    is_exact = sleepers_check(&call, round);
    ranks_end(&call);
    return is_exact;
}

/* Makes progress without callbacks until all ranks have called this, and for a
 * while, in which the end of the call arrives. */
static void asleep_meet(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t end_ns = 0;
    unsigned queued = 0;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (flag == 0) {
        (void)HG_Event_progress(all.context, &queued);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    end_ns = ranks_now_ns() + TIMEOUT_MS * 1000000ull;
    while (ranks_now_ns() < end_ns)
        (void)HG_Event_progress(all.context, &queued);
}

/* One call. False at all ranks: ranks were too slow, so more were named. */
static bool once(int round, unsigned timeout_ms)
{
    bool is_asleep = is_sleeper(all.rank, round);
    bool has_sleepers = false;
    int is_exact = true;

    for (int rank = 0; rank < all.size; rank++)
        has_sleepers = has_sleepers || is_sleeper(rank, round);
    ranks_meet(MPI_COMM_WORLD);
    ran = 0;
    MPI_Barrier(MPI_COMM_WORLD); /* from here on sleepers run no callbacks */
    if (all.rank == root)
        is_exact = ask(round, has_sleepers, timeout_ms);
    if (is_asleep)
        asleep_meet();
    else
        ranks_meet(MPI_COMM_WORLD);
    MPI_Bcast(&is_exact, 1, MPI_INT, root, MPI_COMM_WORLD);
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++)
        ranks_turn();
    CHECK(is_asleep ? ran == 0 : ran <= 1);
    CHECK(is_asleep || !is_exact || ran == 1);
    return is_exact || cancels || (folds(round) && !is_above);
}

int main(int argc, char **argv)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    cancels = argc > 1 && strcmp(argv[1], "cancel") == 0;
    is_above = argc > 1 && strcmp(argv[1], "above") == 0;
    if (is_above)
        root = all.size - 2;
    CHECK(all.size <= 16);
    ids[0] = MERCURY_REGISTER(all.cls, "ask", void, sum_t, ask_serve);
    ids[1] = MERCURY_REGISTER(all.cls, "sum", void, sum_t, ask_serve);
    OK(amalgam_register_reduce(
        all.cls, ids[1], sum_fold, NULL, sizeof(sum_t), 0));
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned ms = TIMEOUT_MS; !once(round, ms); ms *= 2)
            CHECK(ms < TIMEOUT_MAX_MS);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
