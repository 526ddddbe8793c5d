/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a handler moves bulk data, beside HG_Bulk_transfer().
 *
 * Rank 1 calls, and rank 0 serves: its handler moves all of a batch, one
 * transfer after the other, and holds the clock. In the control it is rank 0
 * that moves, too, from a loop of HG_Progress() and HG_Trigger(). */
#include "jobs/bench/margo/margo_bulk.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/bulk/bulk_move.h"

#define HG_BULK_TEXT                                                           \
    "the same transfers by HG_Bulk_transfer(), one at a time, from a loop of " \
    "HG_Progress() and HG_Trigger(); median rate"

enum { KIB = 1024, MIB = 1024 * KIB };

static const size_t sizes[] = {64 * KIB, 256 * KIB, MIB, 16 * MIB};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), SIZES_QUICK = 2 };

MERCURY_GEN_PROC(bench_move_t, ((hg_bulk_t)(memory)))

/* Both sides of the rows of one direction. */
struct mover {
    struct mend *mend;
    struct bulk bulk; /* of the control */
    bool is_push;
    hg_id_t id;
    hg_bulk_t memory; /* of this rank */
    ABT_eventual is_over;
    /* Rank 0's, of this batch. */
    const struct duel *duel;
    double *samples;
    double elapsed_us;
};

static void all_move(struct mover *mover, hg_addr_t from, hg_bulk_t theirs)
{
    const struct duel *duel = mover->duel;
    unsigned warm = bulk_warm(duel);
    double start_us = 0.0;
    double before_us = 0.0;

    for (unsigned i = 0; i < warm + duel->calls; i++) {
        if (i == warm)
            start_us = before_us = clock_now_us();
        pair_check(mover->mend->like,
            margo_bulk_transfer(mover->mend->mid,
                mover->is_push ? HG_BULK_PUSH : HG_BULK_PULL, from, theirs, 0,
                mover->memory, 0, duel->size),
            "margo_bulk_transfer");
        if (i >= warm)
            mover->samples[i - warm] = clock_lap_us(&before_us);
    }
    mover->elapsed_us = before_us - start_us;
}

static void bench_margo_move(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    const struct hg_info *info = margo_get_info(handle);
    struct mover *mover = margo_registered_data(mid, info->id);
    bench_move_t in;

    pair_check(
        mover->mend->like, margo_get_input(handle, &in), "margo_get_input");
    all_move(mover, info->addr, in.memory);
    margo_free_input(handle, &in);
    margo_respond(handle, NULL);
    margo_destroy(handle);
    ABT_eventual_set(mover->is_over, NULL, 0);
}
DEFINE_MARGO_RPC_HANDLER(bench_margo_move)

/* Rank 1 calls, and comes back when all has moved. */
static void move_ask(struct mover *mover)
{
    bench_move_t in = {mover->memory};
    hg_handle_t handle = mend_handle(mover->mend, mover->id);

    mend_call(mover->mend, handle, &in);
    margo_destroy(handle);
}

static double margo_move(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct mover *mover = duel->more;
    bool is_from = mover->is_push == (pair->rank == 0);

    mover->duel = duel;
    mover->samples = ret_samples;
    mover->elapsed_us = 0.0;
    if (is_from)
        pattern_fill(pair->room, duel->size, pair->seed);
    MPI_Barrier(pair->comm);
    if (pair->rank == 0) {
        ABT_eventual_wait(mover->is_over, NULL);
        ABT_eventual_reset(mover->is_over);
    } else {
        move_ask(mover);
    }
    MPI_Barrier(pair->comm);
    if (!is_from)
        pair_verify(pair, pair->landing, duel->size, "the bulk data");
    return mover->elapsed_us;
}

static double hg_move(struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct mover *mover = duel->more;
    double elapsed_us = 0.0;

    pair_enter(pair);
    elapsed_us = bulk_move_run(pair, duel, &mover->bulk, ret_samples);
    pair_leave(pair);
    return elapsed_us;
}

static void mover_open(struct mover *mover, struct pair *pair,
    struct mend *mend, const struct like *like)
{
    struct bulk_shape shape = {
        false, 1, pair->room_len, pair->room_len, pair->room_len};
    bool is_from = mover->is_push == (pair->rank == 0);
    void *memory = is_from ? pair->room : pair->landing;
    hg_size_t len = pair->room_len;

    mover->mend = mend;
    bulk_open(pair, &shape, like, &mover->bulk);
    mover->bulk.is_push = mover->is_push;
    pair_check(pair,
        margo_bulk_create(mend->mid, 1, &memory, &len,
            is_from ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY, &mover->memory),
        "margo_bulk_create");
    if (ABT_eventual_create(0, &mover->is_over) != ABT_SUCCESS)
        pair_check(pair, HG_NOMEM, "ABT_eventual_create");
    mover->id = MARGO_REGISTER(
        mend->mid, "bench_margo_move", bench_move_t, void, bench_margo_move);
    pair_check(pair, margo_register_data(mend->mid, mover->id, mover, NULL),
        "margo_register_data");
}

static void mover_close(struct mover *mover, struct pair *pair)
{
    pair_check(pair, margo_deregister(mover->mend->mid, mover->id),
        "margo_deregister");
    ABT_eventual_free(&mover->is_over);
    margo_bulk_free(mover->memory);
    mend_meet(mover->mend); /* over libfabric the other one gives access back */
    bulk_close(pair, &mover->bulk);
}

static void size_run(struct pair *pair, struct mover *mover, size_t size)
{
    struct duel duel = {
        .ours = margo_move,
        .control = hg_move,
        .size = size,
        .window = 1,
        .calls = bulk_calls(pair, size, 1),
        .batches = pair->options->batches,
        .figure = DUEL_GBPS,
        .context = DUEL_CONTEXT_OWN,
        .more = mover,
    };
    struct row row = {
        .bench = "margo",
        .op = mover->is_push ? "margo_push" : "margo_pull",
        .memory = "host",
        .against = "hg",
        .control = HG_BULK_TEXT,
    };

    duel_run(pair, &duel, &row);
}

void margo_bulk_run(struct pair *pair, struct mend *mend)
{
    unsigned count = options_pick(pair->options, SIZES, SIZES_QUICK, 1);
    struct like like;

    pair_need_room(pair, sizes[count - 1]);
    like_open(pair, pair->room_len, &like);
    for (unsigned direction = 0; direction < 2; direction++) {
        struct mover mover = {.is_push = direction == 1};

        mover_open(&mover, pair, mend, &like);
        for (unsigned i = 0; i < count; i++)
            size_run(pair, &mover, sizes[i]);
        mover_close(&mover, pair);
    }
    like_close(&like);
}
