/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers between random datatypes move the same bytes as MPI_Pack() and
 * MPI_Unpack(), and no others.
 *
 * Both sides of a transfer, and the contents of their memory, follow from a
 * seed: the checking rank recreates the other side's memory, and asks MPI. The
 * memory is compared whole, gaps and surroundings too. */
#include <stdlib.h>
#include <string.h>

#include "random_type.h"
#include "ranks.h"

enum { SEEDS = 60, DEPTH = 3, SMALL = 100, LEN = 2 * RANDOM_TYPE_REACH };

MERCURY_GEN_PROC(
    move_in_t, ((hg_bulk_t)(bulk))((uint64_t)(seed))((uint8_t)(is_push)))

/* One side: memory, and the datatype that selects bytes of it. */
struct side {
    struct random_type type;
    unsigned char *bytes;
    uint64_t fill;
    hg_bulk_t bulk;
};

/* The transfer of a seed. */
struct plan {
    struct side origin; /* the caller, which exposes */
    struct side local;  /* the called rank, which transfers */
    int origin_offset;
    int local_offset;
    int len;
};

/* A move, while it is served. */
struct move {
    hg_handle_t handle;
    move_in_t in;
    struct plan plan;
};

static struct ranks all;
static hg_id_t move_id;
static uint64_t moved; /* bytes, by this rank */

static void *buf_of(struct side *side)
{
    return side->bytes + RANDOM_TYPE_REACH;
}

static void side_fill(struct side *side)
{
    ranks_fill(side->bytes, LEN, side->fill, 0);
}

static void plan_make(uint64_t seed, struct plan *plan)
{
    uint64_t numbers = seed;
    int32_t bytes = 0;

    memset(plan, 0, sizeof(*plan));
    random_type_draw(&numbers, DEPTH, true, &plan->origin.type);
    /* Small and empty ones are rare. */
    while (plan->origin.type.bytes < SMALL && random_below(&numbers, 8) > 0) {
        random_type_end(&plan->origin.type);
        random_type_draw(&numbers, DEPTH, true, &plan->origin.type);
    }
    bytes = plan->origin.type.bytes;
    random_type_draw_bytes(&numbers, DEPTH, bytes, &plan->local.type);
    plan->len = bytes;
    if (random_below(&numbers, 2) == 0 && bytes > 0) { /* only a part */
        plan->len = 1 + random_below(&numbers, bytes);
        plan->origin_offset = random_below(&numbers, bytes - plan->len + 1);
        plan->local_offset = random_below(&numbers, bytes - plan->len + 1);
    }
    plan->origin.fill = random_next(&numbers);
    plan->local.fill = random_next(&numbers);
    plan->origin.bytes = malloc(LEN);
    plan->local.bytes = malloc(LEN);
    side_fill(&plan->origin);
    side_fill(&plan->local);
}

static void plan_end(struct plan *plan)
{
    random_type_end(&plan->origin.type);
    random_type_end(&plan->local.type);
    free(plan->origin.bytes);
    free(plan->local.bytes);
}

static void side_expose(struct side *side, uint8_t flags)
{
    OK(amalgam_bulk_create_type(all.cls, buf_of(side), side->type.count,
        side->type.type, flags, &side->bulk));
    CHECK(HG_Bulk_get_size(side->bulk) == (hg_size_t)side->type.bytes);
}

/* All bytes of a side, by MPI_Pack(); the caller frees them. */
static unsigned char *side_pack(struct side *side)
{
    unsigned char *packed = malloc((size_t)side->type.bytes + 1);
    int len = 0;

    MPI_Pack(buf_of(side), side->type.count, side->type.type, packed,
        side->type.bytes + 1, &len, MPI_COMM_SELF);
    CHECK(len == side->type.bytes);
    return packed;
}

/* Ends the job unless `to` is as created, with `len` bytes of `from`, which is
 * recreated, in their places. */
static void result_check(struct side *to, int to_offset, struct side *from,
    int from_offset, int len, uint64_t seed)
{
    struct side right = *to;
    unsigned char *source = NULL;
    unsigned char *packed = NULL;
    int at = 0;

    right.bytes = malloc(LEN);
    side_fill(&right);
    side_fill(from);
    source = side_pack(from);
    packed = side_pack(&right);
    memcpy(packed + to_offset, source + from_offset, (size_t)len);
    MPI_Unpack(packed, to->type.bytes, &at, buf_of(&right), to->type.count,
        to->type.type, MPI_COMM_SELF);
    for (int i = 0; i < LEN; i++) {
        if (to->bytes[i] == right.bytes[i])
            continue;
        fprintf(stderr, "seed %llu: byte %d is %d, not %d\n",
            (unsigned long long)seed, i - RANDOM_TYPE_REACH, to->bytes[i],
            right.bytes[i]);
        CHECK(!"what MPI_Unpack() would have made of it");
    }
    free(packed);
    free(source);
    free(right.bytes);
}

static hg_return_t move_done(const struct hg_cb_info *info)
{
    struct move *move = info->arg;
    struct plan *plan = &move->plan;

    OK(info->ret);
    CHECK(info->info.bulk.size == (hg_size_t)plan->len);
    OK(HG_Bulk_free(plan->local.bulk));
    if (!move->in.is_push)
        result_check(&plan->local, plan->local_offset, &plan->origin,
            plan->origin_offset, plan->len, move->in.seed);
    moved += (uint64_t)plan->len;
    plan_end(plan);
    OK(HG_Respond(move->handle, NULL, NULL, NULL));
    OK(HG_Free_input(move->handle, &move->in));
    OK(HG_Destroy(move->handle));
    free(move);
    return HG_SUCCESS;
}

static hg_return_t move_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct move *move = calloc(1, sizeof(*move));
    struct plan *plan = &move->plan;
    bool is_push = false;

    move->handle = handle;
    OK(HG_Get_input(handle, &move->in));
    is_push = move->in.is_push != 0;
    plan_make(move->in.seed, plan);
    side_expose(&plan->local, is_push ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY);
    OK(HG_Bulk_transfer(info->context, move_done, move,
        is_push ? HG_BULK_PUSH : HG_BULK_PULL, info->addr, move->in.bulk,
        (hg_size_t)plan->origin_offset, plan->local.bulk,
        (hg_size_t)plan->local_offset, (hg_size_t)plan->len, HG_OP_ID_IGNORE));
    return HG_SUCCESS;
}

static void move_ask(int rank, uint64_t seed, bool is_push)
{
    move_in_t in = {HG_BULK_NULL, seed, is_push};
    struct ranks_call call;
    struct plan plan;

    plan_make(seed, &plan);
    side_expose(&plan.origin, is_push ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY);
    in.bulk = plan.origin.bulk;
    OK(ranks_begin(&all, &call, rank, move_id, &in));
    OK(ranks_wait(&call));
    ranks_end(&call);
    OK(HG_Bulk_free(plan.origin.bulk));
    if (is_push)
        result_check(&plan.origin, plan.origin_offset, &plan.local,
            plan.local_offset, plan.len, seed);
    else
        CHECK(ranks_is_filled(plan.origin.bytes, LEN, plan.origin.fill, 0));
    plan_end(&plan);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    move_id = MERCURY_REGISTER(all.cls, "move", move_in_t, void, move_serve);
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = first; i < first + seeds; i++)
        for (int rank = 0; rank < all.size; rank++) {
            uint64_t seed = i * 10007 + (uint64_t)(rank * 101 + all.rank);

            move_ask(rank, seed, false);
            move_ask(rank, seed, true);
        }
    ranks_meet(MPI_COMM_WORLD);
    printf("rank %d: %llu seeds from %llu, %llu bytes moved\n", all.rank,
        (unsigned long long)seeds, (unsigned long long)first,
        (unsigned long long)moved);
    ranks_close(&all);
    return ranks_stop();
}
