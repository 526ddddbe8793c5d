/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast one rank pulls exposed memory of the other. */
#include <mpi.h>
#include <stdlib.h>

#include "benches.h"
#include "control.h"
#include "duel.h"
#include "mercury_bulk.h"

enum {
    WINDOW = 4,
    TAG = 2,
    DESCRIPTOR_CAP = 4096,
    BATCH_BYTES = 32 * 1024 * 1024,
    CALLS_MAX = 200,
};

static const size_t sizes[] = {65536, 1048576, 16777216};

enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

/* Pulls in flight; rank 0's. */
struct puller {
    struct pair *pair;
    const struct duel *duel;
    hg_bulk_t theirs;
    hg_bulk_t ours;
    double *samples;
    unsigned posted;
    unsigned ended;
};

/* One place of the window. */
struct slot {
    struct puller *puller;
    hg_size_t offset;
    double posted_us;
};

static hg_return_t pull_ended(const struct hg_cb_info *info);

static void pull_post(struct slot *slot)
{
    struct puller *puller = slot->puller;

    puller->posted++;
    slot->posted_us = duel_now_us();
    pair_check(puller->pair,
        HG_Bulk_transfer(puller->pair->context, pull_ended, slot, HG_BULK_PULL,
            puller->pair->peer, puller->theirs, slot->offset, puller->ours,
            slot->offset, puller->duel->size, HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
}

static hg_return_t pull_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct puller *puller = slot->puller;

    pair_check(puller->pair, info->ret, "the pull");
    puller->samples[puller->ended++] = duel_now_us() - slot->posted_us;
    if (puller->posted < puller->duel->calls)
        pull_post(slot);
    return HG_SUCCESS;
}

static double pull_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct puller *puller = duel->more;
    struct slot slots[WINDOW];
    double start_us = 0.0;
    double elapsed_us = 0.0;

    if (pair->rank != 0) {
        pair_serve(pair);
        return 0.0;
    }
    puller->duel = duel;
    puller->samples = ret_samples;
    puller->posted = 0;
    puller->ended = 0;
    start_us = duel_now_us();
    for (unsigned i = 0; i < duel->window && i < duel->calls; i++) {
        slots[i] = (struct slot){puller, i * duel->size, 0.0};
        pull_post(&slots[i]);
    }
    while (puller->ended < duel->calls)
        pair_turn(pair);
    elapsed_us = duel_now_us() - start_us;
    pair_stop(pair);
    return elapsed_us;
}

/* Rank 1 exposes its room and sends the descriptor to rank 0. */
static void puller_init(struct puller *puller, struct pair *pair)
{
    unsigned char bytes[DESCRIPTOR_CAP];
    hg_size_t len = pair->room_len;
    void *room = pair->room;

    *puller = (struct puller){.pair = pair};
    pair_check(pair,
        HG_Bulk_create(pair->cls, 1, &room, &len,
            pair->rank == 0 ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY,
            &puller->ours),
        "HG_Bulk_create");
    if (pair->rank != 0) {
        pair_check(pair,
            HG_Bulk_serialize(bytes, sizeof(bytes), 0, puller->ours),
            "HG_Bulk_serialize");
        MPI_Send(bytes, sizeof(bytes), MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(bytes, sizeof(bytes), MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE);
    pair_check(pair,
        HG_Bulk_deserialize(pair->cls, &puller->theirs, bytes, sizeof(bytes)),
        "HG_Bulk_deserialize");
}

static void puller_fini(struct puller *puller)
{
    pair_check(puller->pair, HG_Bulk_free(puller->theirs), "HG_Bulk_free");
    pair_check(puller->pair, HG_Bulk_free(puller->ours), "HG_Bulk_free");
}

/* In a batch: what takes a few milliseconds. */
static unsigned calls_of(size_t size)
{
    size_t calls = BATCH_BYTES / (size + 1);

    if (calls < WINDOW)
        return WINDOW;
    return calls > CALLS_MAX ? (unsigned)CALLS_MAX : (unsigned)calls;
}

static void size_run(
    struct pair *pair, struct puller *puller, size_t size, unsigned calls)
{
    const unsigned windows[] = {1, WINDOW};

    for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct duel duel = {
            .ours = pull_batch,
            .control = control_stream,
            .size = size,
            .window = windows[i],
            .calls = pair->options->calls == 0 ? calls : pair->options->calls,
            .batches = pair->options->batches,
            .is_rate = true,
            .more = puller,
        };
        struct row row = {
            .bench = "bulk",
            .op = "bulk_pull",
            .memory = "host",
            .control = CONTROL_STREAM_TEXT,
        };

        duel_run(pair, &duel, &row);
    }
}

void bench_bulk(struct pair *pair)
{
    const unsigned *only = pair->options->size;
    bool has_size = only != NULL && *only > 0;
    struct puller puller;

    pair_need_room(pair, WINDOW * (has_size ? *only : sizes[SIZE_COUNT - 1]));
    puller_init(&puller, pair);
    if (has_size)
        size_run(pair, &puller, *only, calls_of(*only));
    for (unsigned i = 0; !has_size && i < SIZE_COUNT; i++)
        size_run(pair, &puller, sizes[i], calls_of(sizes[i]));
    puller_fini(&puller);
}
