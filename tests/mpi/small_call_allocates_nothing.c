/* SPDX-License-Identifier: BSD-3-Clause */
/* After a warm-up, neither side of a small call allocates anything. */
#include <stdint.h>
#include <stdio.h>

#include "amalgam.h"
#include "base/mem.h"
#include "mercury_proc_string.h"

enum { WARM = 200, CALLS = 1000 };

/* Four integers to the target, one back. */
struct input {
    uint64_t word[4];
};

struct state {
    hg_context_t *context;
    unsigned ended;  /* calls that returned here */
    unsigned served; /* calls that were served here */
    bool is_wrong;
};

static hg_return_t input_proc(hg_proc_t proc, void *data)
{
    struct input *input = data;
    hg_return_t ret = HG_SUCCESS;

    for (int i = 0; i < 4 && ret == HG_SUCCESS; i++)
        ret = hg_proc_uint64_t(proc, &input->word[i]);
    return ret;
}

static struct state *state_of(hg_handle_t handle)
{
    return HG_Class_get_data(HG_Get_info(handle)->hg_class);
}

static hg_return_t null_serve(hg_handle_t handle)
{
    state_of(handle)->served++;
    HG_Respond(handle, NULL, NULL, NULL);
    return HG_Destroy(handle);
}

static hg_return_t sum_serve(hg_handle_t handle)
{
    struct input input;
    uint64_t sum = 0;

    state_of(handle)->served++;
    if (HG_Get_input(handle, &input) == HG_SUCCESS) {
        for (int i = 0; i < 4; i++)
            sum += input.word[i];
        HG_Free_input(handle, &input);
    }
    HG_Respond(handle, NULL, NULL, &sum);
    return HG_Destroy(handle);
}

static void turn(struct state *state)
{
    unsigned count = 0;

    HG_Progress(state->context, 1);
    HG_Trigger(state->context, 0, 1, &count);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct state *state = info->arg;

    state->ended++;
    state->is_wrong = state->is_wrong || info->ret != HG_SUCCESS;
    return HG_SUCCESS;
}

static void call(struct state *state, hg_handle_t handle, void *input)
{
    unsigned ended = state->ended;

    if (HG_Forward(handle, call_ended, state, input) != HG_SUCCESS) {
        state->is_wrong = true;
        return;
    }
    while (state->ended == ended)
        turn(state);
}

/* Rank 0 makes `count` calls of each kind, rank 1 serves as many. */
static void round_run(
    struct state *state, int rank, const hg_handle_t *handles, unsigned count)
{
    unsigned until = state->served + 2 * count;

    for (unsigned i = 0; rank == 0 && i < count; i++) {
        struct input input = {{i, 1, 2, 3}};
        uint64_t sum = 0;

        call(state, handles[0], NULL);
        call(state, handles[1], &input);
        if (HG_Get_output(handles[1], &sum) != HG_SUCCESS || sum != i + 6)
            state->is_wrong = true;
        HG_Free_output(handles[1], &sum);
    }
    while (rank == 1 && state->served < until)
        turn(state);
}

/* Number of allocations during the calls. */
static uint64_t allocations(
    struct state *state, int rank, const hg_handle_t *handles)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    round_run(state, rank, handles, WARM);
    MPI_Barrier(MPI_COMM_WORLD);
    amg_mem_stats_get(&before);
    round_run(state, rank, handles, CALLS);
    amg_mem_stats_get(&after);
    MPI_Barrier(MPI_COMM_WORLD);
    return after.calls - before.calls;
}

int main(int argc, char **argv)
{
    struct state state = {0};
    hg_handle_t handles[2] = {HG_HANDLE_NULL, HG_HANDLE_NULL};
    hg_addr_t peer = HG_ADDR_NULL;
    hg_class_t *cls = NULL;
    hg_id_t ids[2];
    uint64_t count = 0;
    int rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cls = amalgam_init(MPI_COMM_WORLD, "mpi+p2p", NULL);
    if (cls == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    HG_Class_set_data(cls, &state, NULL);
    state.context = HG_Context_create(cls);
    ids[0] = HG_Register_name(cls, "null", NULL, NULL, null_serve);
    ids[1] = HG_Register_name(
        cls, "sum", input_proc, hg_proc_hg_uint64_t, sum_serve);
    amalgam_addr_rank(cls, 1, &peer);
    for (int i = 0; i < 2; i++)
        HG_Create(state.context, peer, ids[i], &handles[i]);
    MPI_Barrier(MPI_COMM_WORLD);

    count = allocations(&state, rank, handles);
    printf("rank %d: %llu allocations in %d calls\n", rank,
        (unsigned long long)count, 2 * CALLS);

    for (int i = 0; i < 2; i++)
        HG_Destroy(handles[i]);
    HG_Addr_free(cls, peer);
    if (amalgam_finalize(cls) != HG_SUCCESS)
        state.is_wrong = true;
    MPI_Finalize();
    return count == 0 && !state.is_wrong ? 0 : 1;
}
