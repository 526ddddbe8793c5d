/* SPDX-License-Identifier: BSD-3-Clause */
/* amalgam_forward_gather() gives the output of each rank once, whatever its
 * length, and then runs the callback; also for an empty group, for groups
 * without the caller, and if a rank answers late. All ranks call at a time. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { CALLS = 96, AT_ONCE = 6, LATE_MAX = 1024, LATE_TURNS = 3 };

static const uint32_t lens[] = {0, 1, 7, 8, 9, 32, 33, 600, 5000, 70000};

enum { LENS = sizeof(lens) / sizeof(lens[0]) };

MERCURY_GEN_PROC(ask_t, ((uint32_t)(root))((uint32_t)(number)))

struct gather {
    struct ranks_call call;
    struct group_draw draw;
    uint32_t number;
    unsigned given[GROUP_RANKS_MAX];
    unsigned total;
};

static struct ranks all;
static unsigned char ran[GROUP_RANKS_MAX][CALLS];
static struct {
    hg_handle_t handle;
    struct group_blob out;
} late[LATE_MAX];
static size_t late_count;

static struct group_blob output_of(
    uint32_t rank, uint32_t root, uint32_t number)
{
    return (struct group_blob){.len = lens[(rank * 7 + root + number) % LENS],
        .seed = rank * 10007 + root * 101 + number};
}

static void answer(hg_handle_t handle, struct group_blob *out)
{
    OK(HG_Respond(handle, NULL, NULL, out));
    OK(HG_Destroy(handle));
}

static hg_return_t ask_serve(hg_handle_t handle)
{
    struct group_blob out = {0};
    ask_t in;

    OK(HG_Get_input(handle, &in));
    CHECK(in.root < (uint32_t)all.size && in.number < CALLS);
    ran[in.root][in.number]++;
    out = output_of((uint32_t)all.rank, in.root, in.number);
    OK(HG_Free_input(handle, &in));
    if (all.rank == (int)(in.number % (uint32_t)all.size)) {
        CHECK(late_count < LATE_MAX);
        late[late_count].handle = handle;
        late[late_count++].out = out;
    } else {
        answer(handle, &out);
    }
    return HG_SUCCESS;
}

/* The late answers, the last request first. */
static void late_answer(void)
{
    while (late_count > 0) {
        late_count--;
        answer(late[late_count].handle, &late[late_count].out);
    }
}

static void each(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    struct gather *gather = arg;
    struct group_blob out =
        output_of((uint32_t)rank, (uint32_t)all.rank, gather->number);

    OK(ret);
    CHECK(atomic_load(&gather->call.done) == 0);
    CHECK(group_draw_has(&gather->draw, rank));
    gather->given[rank]++;
    gather->total++;
    CHECK(HG_Get_output_payload_size(handle) == out.len);
    OK(HG_Get_output(handle, &out));
    CHECK(out.is_right);
    OK(HG_Free_output(handle, &out));
}

static hg_return_t done(const struct hg_cb_info *info)
{
    struct gather *gather = info->arg;

    CHECK(gather->total == gather->draw.count);
    atomic_fetch_add(&gather->call.done, 1);
    gather->call.ret = info->ret;
    CHECK(info->info.forward.handle == gather->call.handle);
    return HG_SUCCESS;
}

static void draw_of(struct group_draw *draw, uint32_t root, uint32_t number)
{
    group_draw(draw, all.size, root * 977 + number);
    if (number % 3 == 0)
        group_draw_remove(draw, (int)root);
}

static void gather_begin(struct gather *gather, hg_id_t id, uint32_t number)
{
    ask_t in = {(uint32_t)all.rank, number};
    amalgam_group_t group = NULL;

    memset(gather, 0, sizeof(*gather));
    gather->number = number;
    draw_of(&gather->draw, in.root, number);
    group = group_make(&all, &gather->draw);
    gather->call.handle = group_handle(&all, id);
    OK(amalgam_forward_gather(gather->call.handle, group, 0, each,
        number % 5 == 4 ? NULL : done, gather, &in));
    OK(amalgam_group_free(group));
}

static void gather_end(struct gather *gather)
{
    bool has_callback = gather->number % 5 != 4;
    unsigned turns = 0;

    UNTIL((++turns > LATE_TURNS ? late_answer() : (void)0,
        gather->total == gather->draw.count &&
            atomic_load(&gather->call.done) == has_callback));
    for (size_t i = 0; i < gather->draw.count; i++)
        CHECK(gather->given[gather->draw.ranks[i]] == 1);
    OK(gather->call.ret);
    if (has_callback)
        CHECK(group_failed_count(gather->call.handle) == 0);
    ranks_end(&gather->call);
}

int main(void)
{
    static struct gather gathers[AT_ONCE];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(all.size <= GROUP_RANKS_MAX);
    id = HG_Register_name(
        all.cls, "ask", hg_proc_ask_t, group_bytes_code, ask_serve);
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t number = 0; number < CALLS; number += AT_ONCE) {
        for (uint32_t i = 0; i < AT_ONCE; i++)
            gather_begin(&gathers[i], id, number + i);
        for (uint32_t i = 0; i < AT_ONCE; i++)
            gather_end(&gathers[i]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    UNTIL((late_answer(), MPI_Test(&request, &flag, &status), flag != 0));
    for (uint32_t root = 0; root < (uint32_t)all.size; root++)
        for (uint32_t number = 0; number < CALLS; number++) {
            struct group_draw draw;

            draw_of(&draw, root, number);
            CHECK(ran[root][number] == group_draw_has(&draw, all.rank));
        }
    ranks_close(&all);
    return ranks_stop();
}
