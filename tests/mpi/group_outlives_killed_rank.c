/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank is killed before a call to its group arrives ("before"), or by its
 * handler ("during"): the callback comes, names that rank alone, and all others
 * run the call once, also those below the dead one in the tree. The last
 * argument is a limit in ms, where the transport does not report dead ranks: 0
 * for none. Run by apart.sh: group_outlives_killed_rank WHEN RANK MS. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { CALLS = 3 };

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(number)))
MERCURY_GEN_PROC(sum_t, ((uint64_t)(value)))

static struct ranks all;
static int dead;
static bool dies_serving;
static unsigned ran[GROUP_RANKS_MAX][CALLS];
static unsigned told;

static hg_return_t ask_serve(hg_handle_t handle)
{
    sum_t out = {1ull << (4 * all.rank)};
    ask_t in;

    if (all.rank == dead && dies_serving)
        raise(SIGKILL);
    OK(HG_Get_input(handle, &in));
    ran[in.root][in.number]++;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static hg_return_t told_serve(hg_handle_t handle)
{
    told++;
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

static void ask(hg_id_t id, uint32_t number, unsigned limit_ms)
{
    ask_t in = {(uint32_t)all.rank, number};
    hg_return_t code = HG_SUCCESS;
    struct ranks_call call;
    uint64_t wanted = 0;
    sum_t out = {0};

    group_begin(&all, &call, AMALGAM_GROUP_ALL, id, limit_ms, &in);
    (void)ranks_wait(&call);
    code = group_code_of(call.handle, dead);
    CHECK(code == HG_HOSTUNREACH || code == (limit_ms > 0 ? HG_TIMEOUT : code));
    CHECK(code != HG_SUCCESS && call.ret != HG_SUCCESS);
    for (int rank = 0; rank < all.size; rank++)
        if (group_code_of(call.handle, rank) == HG_SUCCESS)
            wanted += 1ull << (4 * rank);
    if (limit_ms == 0)
        CHECK(group_failed_count(call.handle) == 1);
    OK(HG_Get_output(call.handle, &out));
    CHECK(out.value == wanted);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
}

int main(int argc, char **argv)
{
    unsigned limit_ms = 0;
    hg_id_t told_id = 0;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(argc > 3 && all.size <= 16);
    dies_serving = strcmp(argv[1], "during") == 0;
    dead = atoi(argv[2]);
    limit_ms = (unsigned)atoi(argv[3]);
    HG_Set_log_level("error");
    id = MERCURY_REGISTER(all.cls, "ask", ask_t, sum_t, ask_serve);
    told_id = MERCURY_REGISTER(all.cls, "told", void, void, told_serve);
    OK(amalgam_register_reduce(all.cls, id, sum_fold, NULL, sizeof(sum_t), 0));
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (all.rank == dead && !dies_serving)
        raise(SIGKILL);
    for (uint32_t number = 0; all.rank != dead && number < CALLS; number++)
        ask(id, number, limit_ms);
    UNTIL(all.rank != dead); /* serves until it dies */
    for (int rank = 0; rank < all.size; rank++) {
        struct ranks_call call;

        if (rank == dead)
            continue;
        OK(ranks_begin(&all, &call, rank, told_id, NULL));
        OK(ranks_wait(&call));
        ranks_end(&call);
    }
    UNTIL(told == (unsigned)all.size - 1);
    for (int root = 0; root < all.size; root++)
        for (uint32_t number = 0; number < CALLS && root != dead; number++)
            CHECK(
                limit_ms > 0 ? ran[root][number] <= 1 : ran[root][number] == 1);
    ranks_leave(&all);
    ranks_survived(dead);
}
