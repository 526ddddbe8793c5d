/* SPDX-License-Identifier: BSD-3-Clause */
/* Our side of the rows of bulk data: HG_Bulk_transfer().
 *
 * The callback of a transfer posts the next one at its place of the window, as
 * a program does that moves much. */
#include "jobs/bench/bulk/bulk_move.h"

#include "jobs/bench/base/clock.h"

enum { BATCH_BYTES = 32 * 1024 * 1024, CALLS_MAX = 200 };

/* Transfers in flight; the caller's. */
struct mover {
    struct pair *pair;
    const struct duel *duel;
    const struct bulk *bulk;
    double *samples;
    unsigned calls;
    unsigned posted;
    unsigned ended;
};

/* One place of the window. */
struct slot {
    struct mover *mover;
    hg_size_t offset;
    double posted_us;
};

unsigned bulk_calls(const struct pair *pair, size_t size, unsigned window)
{
    size_t calls = BATCH_BYTES / (size + 1);

    if (pair->options->calls != 0)
        return pair->options->calls;
    if (calls < 2 * window)
        return 2 * window;
    return calls > CALLS_MAX ? (unsigned)CALLS_MAX : (unsigned)calls;
}

static hg_return_t move_ended(const struct hg_cb_info *info);

static void move_post(struct slot *slot)
{
    struct mover *mover = slot->mover;

    mover->posted++;
    slot->posted_us = clock_now_us();
    pair_check(mover->pair,
        HG_Bulk_transfer(mover->pair->context, move_ended, slot,
            mover->bulk->is_push ? HG_BULK_PUSH : HG_BULK_PULL,
            mover->pair->peer, mover->bulk->theirs, slot->offset,
            mover->bulk->ours, slot->offset, mover->duel->size,
            HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
}

static hg_return_t move_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct mover *mover = slot->mover;

    pair_check(mover->pair, info->ret, "the transfer");
    mover->samples[mover->ended++] = clock_now_us() - slot->posted_us;
    if (mover->posted < mover->calls)
        move_post(slot);
    return HG_SUCCESS;
}

/* All of `mover`, from the first to the last; how long they took. */
static double mover_run(struct mover *mover)
{
    struct slot slots[OPTIONS_WINDOW_MAX];
    double start_us = clock_now_us();

    for (unsigned i = 0; i < mover->duel->window && i < mover->calls; i++) {
        slots[i] = (struct slot){mover, i * mover->duel->size, 0.0};
        move_post(&slots[i]);
    }
    while (mover->ended < mover->calls)
        pair_turn(mover->pair);
    return clock_now_us() - start_us;
}

double bulk_move_run(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, double *ret_samples)
{
    struct mover warm = {.pair = pair,
        .duel = duel,
        .bulk = bulk,
        .samples = ret_samples, /* of which nothing stays */
        .calls = bulk_warm(duel)};
    struct mover mover = warm;
    double elapsed_us = 0.0;

    bulk_fill(pair, duel, bulk, bulk->far);
    if (pair->is_caller) {
        mover_run(&warm);
        mover.calls = duel->calls;
        elapsed_us = mover_run(&mover);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    bulk_verify(pair, duel, bulk, bulk->far);
    return elapsed_us;
}

double bulk_move(struct pair *pair, struct duel *duel, double *ret_samples)
{
    return bulk_move_run(pair, duel, duel->more, ret_samples);
}
