/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank (or three, argument "three") has 1,000 calls to all ranks open at a
 * time, with few credits, and handlers that answer after later handlers: all
 * calls end, and each rank runs each of them once. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { CALLS = 1000, HELD_MAX = 8 };

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(number)))
MERCURY_GEN_PROC(sum_t, ((uint64_t)(value)))

static struct ranks all;
static unsigned char ran[GROUP_RANKS_MAX][CALLS];
static hg_handle_t held[HELD_MAX];
static size_t held_count;

static void answer(hg_handle_t handle)
{
    sum_t out = {(uint64_t)all.rank + 1};

    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
}

static void held_answer(void)
{
    while (held_count > 0)
        answer(held[--held_count]);
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    ask_t in;

    OK(HG_Get_input(handle, &in));
    ran[in.root][in.number]++;
    OK(HG_Free_input(handle, &in));
    held[held_count++] = handle;
    if (held_count == HELD_MAX)
        held_answer();
    return HG_SUCCESS;
}

static void sum_fold(const void *from, void *inout, void *arg)
{
    (void)arg;
    ((sum_t *)inout)->value += ((const sum_t *)from)->value;
}

int main(int argc, char **argv)
{
    static struct ranks_call calls[CALLS];
    MPI_Request request = MPI_REQUEST_NULL;
    int roots = 0;
    int flag = 0;
    uint64_t wanted = 0;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    roots = argc > 1 && strcmp(argv[1], "three") == 0 && all.size > 3
                ? 3
                : all.size;
    wanted = (uint64_t)all.size * ((uint64_t)all.size + 1) / 2;
    id = MERCURY_REGISTER(all.cls, "ask", ask_t, sum_t, ask_serve);
    OK(amalgam_register_reduce(all.cls, id, sum_fold, NULL, sizeof(sum_t), 0));
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t i = 0; i < CALLS && all.rank < roots; i++) {
        ask_t in = {(uint32_t)all.rank, i};

        group_begin(&all, &calls[i], AMALGAM_GROUP_ALL, id, 0, &in);
    }
    for (uint32_t i = 0; i < CALLS && all.rank < roots; i++) {
        sum_t out = {0};

        UNTIL((held_answer(), atomic_load(&calls[i].done) > 0));
        OK(calls[i].ret);
        OK(HG_Get_output(calls[i].handle, &out));
        CHECK(out.value == wanted);
        OK(HG_Free_output(calls[i].handle, &out));
        ranks_end(&calls[i]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    UNTIL((held_answer(), MPI_Test(&request, &flag, MPI_STATUS_IGNORE),
        flag != 0));
    for (int root = 0; root < roots; root++)
        for (int i = 0; i < CALLS; i++)
            CHECK(ran[root][i] == 1);
    ranks_close(&all);
    return ranks_stop();
}
