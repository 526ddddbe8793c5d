/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of ranks are made from groups of MPI: of the class's communicator, of
 * another one, with gaps, in any order, empty; also for a class whose ranks are
 * numbered in another way than the processes of the group. A process that is
 * not in the class is refused, and so are no group and a class without ranks,
 * while the program's error handlers are those that end the job. */
#include <stdlib.h>

#include "group_calls.h"

enum { GROUPS = 60 };

MERCURY_GEN_PROC(rank_t, ((int32_t)(rank)))

struct seen {
    struct ranks_call call;
    unsigned runs[GROUP_RANKS_MAX];
    int world[GROUP_RANKS_MAX]; /* ranks in the world, by rank of the class */
};

static int world_rank;

static hg_return_t tell(hg_handle_t handle)
{
    rank_t out = {world_rank};

    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void told(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    struct seen *seen = arg;
    rank_t out;

    OK(ret);
    OK(HG_Get_output(handle, &out));
    seen->runs[rank]++;
    seen->world[rank] = out.rank;
    OK(HG_Free_output(handle, &out));
}

/* Calls the group: exactly its processes must run the handler. */
static void group_check(struct ranks *ranks, hg_id_t id, MPI_Group wanted)
{
    struct seen seen = {.call = {.ret = HG_SUCCESS}};
    amalgam_group_t group = NULL;
    MPI_Group world = MPI_GROUP_NULL;
    unsigned runs = 0;
    int count = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(wanted, &count);
    OK(amalgam_group_create(ranks->cls, wanted, &group));
    seen.call.handle = group_handle(ranks, id);
    OK(amalgam_forward_gather(
        seen.call.handle, group, 0, told, ranks_done, &seen, NULL));
    OK(amalgam_group_free(group));
    OK(ranks_wait(&seen.call));
    for (int rank = 0; rank < ranks->size; rank++) {
        int place = MPI_UNDEFINED;

        CHECK(seen.runs[rank] <= 1);
        runs += seen.runs[rank];
        if (seen.runs[rank] == 0)
            continue;
        MPI_Group_translate_ranks(world, 1, &seen.world[rank], wanted, &place);
        CHECK(place != MPI_UNDEFINED);
    }
    CHECK(runs == (unsigned)count);
    ranks_end(&seen.call);
    MPI_Group_free(&world);
}

/* Groups of processes of `comm`, drawn by chance. */
static void groups_check(struct ranks *ranks, hg_id_t id, MPI_Comm comm)
{
    MPI_Group all = MPI_GROUP_NULL;
    struct group_draw draw;
    int size = 0;

    MPI_Comm_group(comm, &all);
    MPI_Group_size(all, &size);
    group_check(ranks, id, all);
    group_check(ranks, id, MPI_GROUP_EMPTY);
    for (unsigned i = 0; i < GROUPS; i++) {
        MPI_Group some = MPI_GROUP_NULL;

        group_draw(&draw, size, i * 31 + (unsigned)world_rank);
        MPI_Group_incl(all, (int)draw.count, draw.ranks, &some);
        group_check(ranks, id, some);
        if (some != MPI_GROUP_EMPTY)
            MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
}

static void refusals_check(struct ranks *ranks, bool lacks_ranks)
{
    hg_class_t *other = HG_Init("self", HG_TRUE);
    amalgam_group_t group = NULL;
    MPI_Group world = MPI_GROUP_NULL;

    HG_Set_log_level("none");
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (lacks_ranks)
        EXPECT(
            HG_ADDRNOTAVAIL, amalgam_group_create(ranks->cls, world, &group));
    EXPECT(HG_INVALID_ARG,
        amalgam_group_create(ranks->cls, MPI_GROUP_NULL, &group));
    EXPECT(HG_INVALID_ARG, amalgam_group_create(ranks->cls, world, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_group_create(NULL, world, &group));
    CHECK(other != NULL && group == NULL);
    EXPECT(HG_OPNOTSUPPORTED, amalgam_group_create(other, world, &group));
    OK(HG_Finalize(other));
    MPI_Group_free(&world);
    HG_Set_log_level("warning");
}

int main(void)
{
    struct ranks all;
    struct ranks part;
    MPI_Comm odd = MPI_COMM_NULL;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    ranks_open(&all, MPI_COMM_WORLD);
    id = MERCURY_REGISTER(all.cls, "tell", void, rank_t, tell);
    ranks_meet(MPI_COMM_WORLD);
    groups_check(&all, id, MPI_COMM_WORLD);
    ranks_meet(MPI_COMM_WORLD);
    refusals_check(&all, false);

    /* A class of the odd, and one of the even ranks, in descending order. */
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &odd);
    ranks_open(&part, odd);
    (void)MERCURY_REGISTER(part.cls, "tell", void, rank_t, tell);
    ranks_meet(MPI_COMM_WORLD);
    groups_check(&part, id, odd);
    groups_check(&all, id, odd);
    ranks_meet(MPI_COMM_WORLD);
    refusals_check(&part, all.size > 1);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&part);
    ranks_close(&all);
    MPI_Comm_free(&odd);
    return ranks_stop();
}
