/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handles in the input of a call to a group work at all ranks, the caller
 * included: each handler pulls a part of the caller's memory, and pushes
 * another one back, to the address of its handle; and reads a small read-only
 * handle, whose bytes come with the input. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

enum { SMALL_LEN = 48, CALLS = 12 };

static const size_t lens[] = {1, 64, 5000, 70001, 1 << 20};

enum { LENS = sizeof(lens) / sizeof(lens[0]) };

MERCURY_GEN_PROC(
    share_t, ((hg_bulk_t)(bulk))((hg_bulk_t)(small))((uint64_t)(len))(
                 (uint32_t)(root))((uint32_t)(number)))

/* A call at a rank of the group, freed with its answer. */
struct work {
    hg_handle_t handle;
    share_t in;
    unsigned char *bytes;
    hg_bulk_t local;
    unsigned char small[SMALL_LEN];
    hg_bulk_t small_local;
};

static struct ranks all;
static unsigned served;

static uint64_t seed_of(uint32_t root, uint32_t number)
{
    return (uint64_t)root * 1000 + number;
}

static hg_return_t work_pushed(const struct hg_cb_info *info)
{
    struct work *work = info->arg;

    OK(info->ret);
    CHECK(info->info.bulk.size == work->in.len);
    OK(HG_Bulk_free(work->local));
    OK(HG_Bulk_free(work->small_local));
    OK(HG_Free_input(work->handle, &work->in));
    OK(HG_Respond(work->handle, NULL, NULL, NULL));
    OK(HG_Destroy(work->handle));
    free(work->bytes);
    free(work);
    served++;
    return HG_SUCCESS;
}

static hg_return_t work_pulled(const struct hg_cb_info *info)
{
    struct work *work = info->arg;
    const struct hg_info *call = HG_Get_info(work->handle);
    uint64_t seed = seed_of(work->in.root, work->in.number);
    uint64_t at = work->in.len * (uint64_t)all.rank;

    OK(info->ret);
    CHECK(ranks_is_filled(work->bytes, work->in.len, seed, at));
    ranks_fill(work->bytes, work->in.len, seed + 500, at);
    OK(HG_Bulk_transfer(call->context, work_pushed, work, HG_BULK_PUSH,
        call->addr, work->in.bulk, at, work->local, 0, work->in.len,
        HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static hg_return_t small_pulled(const struct hg_cb_info *info)
{
    struct work *work = info->arg;
    const struct hg_info *call = HG_Get_info(work->handle);

    OK(info->ret);
    CHECK(ranks_is_filled(work->small, SMALL_LEN, work->in.number, 3));
    OK(HG_Bulk_transfer(call->context, work_pulled, work, HG_BULK_PULL,
        call->addr, work->in.bulk, work->in.len * (uint64_t)all.rank,
        work->local, 0, work->in.len, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static hg_return_t share_serve(hg_handle_t handle)
{
    struct work *work = calloc(1, sizeof(*work));
    const struct hg_info *call = HG_Get_info(handle);
    int rank = -1;

    CHECK(work != NULL);
    work->handle = handle;
    OK(HG_Get_input(handle, &work->in));
    OK(amalgam_addr_get_rank(call->hg_class, call->addr, &rank));
    CHECK(rank == (int)work->in.root && call->hg_class == all.cls);
    work->bytes = malloc(work->in.len);
    CHECK(work->bytes != NULL);
    work->local =
        ranks_bulk(&all, work->bytes, work->in.len, HG_BULK_READWRITE);
    work->small_local =
        ranks_bulk(&all, work->small, SMALL_LEN, HG_BULK_WRITE_ONLY);
    OK(HG_Bulk_transfer(call->context, small_pulled, work, HG_BULK_PULL,
        call->addr, work->in.small, 0, work->small_local, 0, SMALL_LEN,
        HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static void share(hg_id_t id, uint32_t number)
{
    size_t len = lens[number % LENS];
    share_t in = {.len = len, .root = (uint32_t)all.rank, .number = number};
    uint64_t seed = seed_of(in.root, number);
    unsigned char *bytes = malloc(len * (size_t)all.size);
    unsigned char small[SMALL_LEN];
    amalgam_group_t group = NULL;
    struct group_draw draw;
    struct ranks_call call;

    CHECK(bytes != NULL);
    ranks_fill(bytes, len * (size_t)all.size, seed, 0);
    ranks_fill(small, SMALL_LEN, number, 3);
    in.bulk =
        ranks_bulk(&all, bytes, len * (size_t)all.size, HG_BULK_READWRITE);
    in.small = ranks_bulk(&all, small, SMALL_LEN, HG_BULK_READ_ONLY);
    group_draw(&draw, all.size, in.root * 31 + number);
    if (number % 2 == 0) {
        draw.count = (size_t)all.size;
        for (int i = 0; i < all.size; i++)
            draw.ranks[i] = i;
    }
    group = group_make(&all, &draw);
    group_begin(&all, &call, group, id, 0, &in);
    OK(amalgam_group_free(group));
    OK(ranks_wait(&call));
    for (int rank = 0; rank < all.size; rank++)
        CHECK(ranks_is_filled(bytes + len * (size_t)rank, len,
            seed + (group_draw_has(&draw, rank) ? 500 : 0),
            len * (uint64_t)rank));
    ranks_end(&call);
    OK(HG_Bulk_free(in.bulk));
    OK(HG_Bulk_free(in.small));
    free(bytes);
}

int main(void)
{
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    id = MERCURY_REGISTER(all.cls, "share", share_t, void, share_serve);
    ranks_meet(MPI_COMM_WORLD);
    for (uint32_t number = 0; number < CALLS; number++)
        share(id, number);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(served >= CALLS / 2 * (unsigned)all.size);
    ranks_close(&all);
    return ranks_stop();
}
