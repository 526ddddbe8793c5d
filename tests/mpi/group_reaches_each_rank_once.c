/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to groups of all shapes, from all ranks at a time: each rank of a group
 * runs the handler once, no other rank runs it, and the outputs are folded. */
#include <stdlib.h>
#include <string.h>

#include "amalgam_group.h"
#include "ranks.h"

enum { CALLS = 200, AT_ONCE = 8, RANKS_MAX = 64 };

MERCURY_GEN_PROC(vote_in_t, ((uint32_t)(root))((uint32_t)(call)))
MERCURY_GEN_PROC(vote_out_t, ((uint64_t)(sum))((uint64_t)(count)))

/* A group by chance: the same at all ranks. */
struct draw {
    int ranks[RANKS_MAX];
    size_t count;
    bool is_all;
};

static struct ranks ranks;
static unsigned char ran[RANKS_MAX][CALLS];

static uint64_t value_of(uint32_t rank, uint32_t root, uint32_t call)
{
    return ((uint64_t)rank + 1) * 1000003u + root * 977u + call;
}

static void draw_make(uint32_t root, uint32_t call, struct draw *ret_draw)
{
    unsigned seed = root * 7919u + call;
    int step = 0;

    ret_draw->count = 0;
    ret_draw->is_all = rand_r(&seed) % 4 == 0;
    step = 1 + rand_r(&seed) % 3;
    for (int i = rand_r(&seed) % ranks.size;
         i < ranks.size && rand_r(&seed) % 8 != 0; i += step)
        ret_draw->ranks[ret_draw->count++] = i;
    if (rand_r(&seed) % 2 == 0) { /* a list in any order */
        ret_draw->count = 0;
        for (int i = 0; i < ranks.size; i++)
            if (rand_r(&seed) % 2 == 0)
                ret_draw->ranks[ret_draw->count++] = i;
        for (size_t i = ret_draw->count; i > 1; i--) {
            size_t k = (size_t)rand_r(&seed) % i;
            int other = ret_draw->ranks[k];

            ret_draw->ranks[k] = ret_draw->ranks[i - 1];
            ret_draw->ranks[i - 1] = other;
        }
    }
    if (!ret_draw->is_all)
        return;
    for (int i = 0; i < ranks.size; i++)
        ret_draw->ranks[i] = i;
    ret_draw->count = (size_t)ranks.size;
}

static hg_return_t vote_serve(hg_handle_t handle)
{
    vote_in_t in;
    vote_out_t out;

    OK(HG_Get_input(handle, &in));
    ran[in.root][in.call]++;
    out.sum = value_of((uint32_t)ranks.rank, in.root, in.call);
    out.count = 1;
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void vote_fold(const void *from_out, void *inout_out, void *arg)
{
    const vote_out_t *from = from_out;
    vote_out_t *inout = inout_out;

    CHECK(arg == &ranks);
    inout->sum += from->sum;
    inout->count += from->count;
}

static void call_check(struct ranks_call *call, uint32_t number)
{
    const int *failed = NULL;
    size_t failed_count = 1;
    vote_out_t out = {0, 0};
    struct draw draw;
    uint64_t sum = 0;

    OK(ranks_wait(call));
    draw_make((uint32_t)ranks.rank, number, &draw);
    for (size_t i = 0; i < draw.count; i++)
        sum += value_of((uint32_t)draw.ranks[i], (uint32_t)ranks.rank, number);
    OK(amalgam_group_failed(call->handle, &failed_count, &failed, NULL));
    CHECK(failed_count == 0 && failed == NULL);
    if (draw.count > 0) {
        OK(HG_Get_output(call->handle, &out));
        OK(HG_Free_output(call->handle, &out));
    }
    CHECK(out.count == draw.count && out.sum == sum);
    ranks_end(call);
}

static void call_begin(struct ranks_call *call, hg_id_t id, uint32_t number)
{
    vote_in_t in = {(uint32_t)ranks.rank, number};
    amalgam_group_t group = AMALGAM_GROUP_ALL;
    struct draw draw;

    *call = (struct ranks_call){.ret = HG_SUCCESS};
    draw_make(in.root, number, &draw);
    if (!draw.is_all)
        OK(amalgam_group_create_ranks(
            ranks.cls, draw.ranks, draw.count, &group));
    OK(HG_Create(ranks.context, HG_ADDR_NULL, id, &call->handle));
    OK(amalgam_forward_group(call->handle, group, ranks_done, call, &in));
    OK(amalgam_group_free(group)); /* the call keeps what it needs */
}

int main(void)
{
    struct ranks_call calls[AT_ONCE];
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&ranks, MPI_COMM_WORLD);
    CHECK(ranks.size <= RANKS_MAX);
    id = MERCURY_REGISTER(ranks.cls, "vote", vote_in_t, vote_out_t, vote_serve);
    OK(amalgam_register_reduce(
        ranks.cls, id, vote_fold, &ranks, sizeof(vote_out_t), 0));
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t number = 0; number < CALLS; number += AT_ONCE) {
        for (uint32_t i = 0; i < AT_ONCE; i++)
            call_begin(&calls[i], id, number + i);
        for (uint32_t i = 0; i < AT_ONCE; i++)
            call_check(&calls[i], number + i);
    }
    ranks_meet(MPI_COMM_WORLD);
    for (int root = 0; root < ranks.size; root++)
        for (uint32_t number = 0; number < CALLS; number++) {
            struct draw draw;
            int wanted = 0;

            draw_make((uint32_t)root, number, &draw);
            for (size_t i = 0; i < draw.count; i++)
                wanted += draw.ranks[i] == ranks.rank;
            CHECK(ran[root][number] == wanted);
        }
    ranks_close(&ranks);
    return ranks_stop();
}
