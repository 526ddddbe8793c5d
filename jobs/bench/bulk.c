/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast one rank pulls from exposed memory of the other, and pushes to it.
 *
 * The exposed memory is the program's own, or the library's; each has the
 * control that does the least work for it. All bytes are written anew for each
 * batch, and looked at after it, outside of the measured time. */
#include "bulk.h"

#include "benches.h"
#include "pattern.h"

enum {
    WINDOW = 4,
    TAG = 2,
    DESCRIPTOR_CAP = 4096,
    BATCH_BYTES = 32 * 1024 * 1024,
    CALLS_MAX = 200,
};

static const size_t sizes[] = {
    4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864};

enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

/* Transfers in flight; the caller's. */
struct mover {
    struct pair *pair;
    const struct duel *duel;
    const struct bulk *bulk;
    double *samples;
    unsigned posted;
    unsigned ended;
};

/* One place of the window. */
struct slot {
    struct mover *mover;
    hg_size_t offset;
    double posted_us;
};

static unsigned char *source_of(
    struct pair *pair, const struct bulk *bulk, unsigned char *far)
{
    if (bulk->is_push)
        return pair->is_caller ? pair->room : NULL;
    return far;
}

static unsigned char *sink_of(
    struct pair *pair, const struct bulk *bulk, unsigned char *far)
{
    if (bulk->is_push)
        return far;
    return pair->is_caller ? pair->room : NULL;
}

void bulk_fill(struct pair *pair, struct duel *duel, unsigned char *far)
{
    unsigned char *source = source_of(pair, duel->more, far);

    if (source != NULL)
        pattern_fill(source, duel->window * duel->size, pair->seed);
    MPI_Barrier(pair->comm);
}

void bulk_verify(struct pair *pair, struct duel *duel, unsigned char *far)
{
    unsigned char *sink = sink_of(pair, duel->more, far);
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;

    MPI_Barrier(pair->comm);
    if (sink != NULL)
        pair_verify(pair, sink, used * duel->size, "the bulk data");
}

static hg_return_t move_ended(const struct hg_cb_info *info);

static void move_post(struct slot *slot)
{
    struct mover *mover = slot->mover;

    mover->posted++;
    slot->posted_us = duel_now_us();
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
    mover->samples[mover->ended++] = duel_now_us() - slot->posted_us;
    if (mover->posted < mover->duel->calls)
        move_post(slot);
    return HG_SUCCESS;
}

static double move_run(struct pair *pair, struct duel *duel, double *samples)
{
    struct mover mover = {
        .pair = pair, .duel = duel, .bulk = duel->more, .samples = samples};
    struct slot slots[WINDOW];
    double start_us = duel_now_us();

    for (unsigned i = 0; i < duel->window && i < duel->calls; i++) {
        slots[i] = (struct slot){&mover, i * duel->size, 0.0};
        move_post(&slots[i]);
    }
    while (mover.ended < duel->calls)
        pair_turn(pair);
    return duel_now_us() - start_us;
}

static double move_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct bulk *bulk = duel->more;
    double elapsed_us = 0.0;

    bulk_fill(pair, duel, bulk->far);
    if (pair->is_caller) {
        elapsed_us = move_run(pair, duel, ret_samples);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    bulk_verify(pair, duel, bulk->far);
    return elapsed_us;
}

/* The target's: its landing, or as much from the library. */
static void expose(struct pair *pair, struct bulk *bulk, bool is_library)
{
    hg_size_t len = pair->room_len;
    void *memory = pair->landing;

    pair_check(pair,
        HG_Bulk_create(pair->cls, 1, is_library ? NULL : &memory, &len,
            HG_BULK_READWRITE, &bulk->exposed),
        "HG_Bulk_create");
    if (is_library)
        pair_check(pair,
            HG_Bulk_access(bulk->exposed, 0, len, HG_BULK_READWRITE, 1, &memory,
                NULL, NULL),
            "HG_Bulk_access");
    bulk->far = memory;
}

static void bulk_init(struct pair *pair, struct bulk *bulk, bool is_library)
{
    unsigned char bytes[DESCRIPTOR_CAP];
    hg_size_t len = pair->room_len;
    void *room = pair->room;

    *bulk = (struct bulk){.len = pair->room_len};
    if (pair->is_target) {
        expose(pair, bulk, is_library);
        pair_check(pair,
            HG_Bulk_serialize(bytes, sizeof(bytes), 0, bulk->exposed),
            "HG_Bulk_serialize");
    }
    if (pair->is_target && !pair->is_caller)
        MPI_Send(bytes, sizeof(bytes), MPI_BYTE, 0, TAG, pair->comm);
    if (!pair->is_caller)
        return;
    if (!pair->is_target)
        MPI_Recv(bytes, sizeof(bytes), MPI_BYTE, 1, TAG, pair->comm,
            MPI_STATUS_IGNORE);
    pair_check(pair,
        HG_Bulk_deserialize(pair->cls, &bulk->theirs, bytes, sizeof(bytes)),
        "HG_Bulk_deserialize");
    pair_check(pair,
        HG_Bulk_create(
            pair->cls, 1, &room, &len, HG_BULK_READWRITE, &bulk->ours),
        "HG_Bulk_create");
}

static void bulk_fini(struct pair *pair, struct bulk *bulk)
{
    pair_check(pair, HG_Bulk_free(bulk->theirs), "HG_Bulk_free");
    pair_check(pair, HG_Bulk_free(bulk->ours), "HG_Bulk_free");
    MPI_Barrier(pair->comm);
    pair_check(pair, HG_Bulk_free(bulk->exposed), "HG_Bulk_free");
}

/* In a batch: what takes a few milliseconds, and fills the window twice. */
static unsigned calls_of(const struct pair *pair, size_t size, unsigned window)
{
    size_t calls = BATCH_BYTES / (size + 1);

    if (pair->options->calls != 0)
        return pair->options->calls;
    if (calls < 2 * window)
        return 2 * window;
    return calls > CALLS_MAX ? (unsigned)CALLS_MAX : (unsigned)calls;
}

/* One row; `row` has the words for the control already. */
static void row_run(struct pair *pair, struct bulk *bulk, size_t size,
    unsigned window, duel_batch_fn control, struct row *row)
{
    struct duel duel = {
        .ours = move_batch,
        .control = control,
        .size = size,
        .window = window,
        .calls = calls_of(pair, size, window),
        .batches = pair->options->batches,
        .figure = DUEL_GBPS,
        .context =
            control == bulk_stream ? DUEL_CONTEXT_OURS : DUEL_CONTEXT_BOTH,
        .more = bulk,
    };

    row->bench = "bulk";
    row->op = bulk->is_push ? "bulk_push" : "bulk_pull";
    if (window * size <= pair->room_len)
        duel_run(pair, &duel, row);
}

static void stream_rows(struct pair *pair, struct bulk *bulk, size_t size)
{
    const unsigned windows[] = {1, WINDOW};

    for (unsigned i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct row row = {
            .memory = "host", .against = "mpi", .control = BULK_STREAM_TEXT};

        row_run(pair, bulk, size, windows[i], bulk_stream, &row);
    }
}

static void cross_row(struct pair *pair, struct bulk *bulk, size_t size)
{
    struct row row = {
        .memory = "host", .against = "process_vm", .control = BULK_CROSS_TEXT};

    row_run(pair, bulk, size, 1, bulk_cross, &row);
}

static void copy_row(struct pair *pair, struct bulk *bulk, size_t size)
{
    struct row row = {
        .memory = "library", .against = "memcpy", .control = BULK_COPY_TEXT};

    row_run(pair, bulk, size, 1, bulk_copy, &row);
}

typedef void (*size_rows_fn)(struct pair *pair, struct bulk *bulk, size_t size);

/* The rows of both directions, for one size or all. */
static void sizes_run(struct pair *pair, struct bulk *bulk, size_rows_fn rows)
{
    const unsigned *only = pair->options->size;

    for (unsigned direction = 0; direction < 2; direction++) {
        bulk->is_push = direction == 1;
        if (only != NULL && *only > 0)
            rows(pair, bulk, *only);
        else
            for (unsigned i = 0; i < SIZE_COUNT; i++)
                rows(pair, bulk, sizes[i]);
    }
}

void bench_bulk(struct pair *pair)
{
    const unsigned *only = pair->options->size;
    size_t largest = sizes[SIZE_COUNT - 1];
    struct bulk bulk;

    if (only != NULL && *only > 0)
        largest = *only <= largest / WINDOW ? WINDOW * *only : *only;
    pair_need_room(pair, largest);
    bulk_init(pair, &bulk, false);
    sizes_run(pair, &bulk, stream_rows);
    if (bulk_cross_init(pair, &bulk))
        sizes_run(pair, &bulk, cross_row);
    bulk_fini(pair, &bulk);
    bulk_init(pair, &bulk, true);
    if (bulk_copy_init(pair, &bulk))
        sizes_run(pair, &bulk, copy_row);
    bulk_copy_fini(&bulk);
    bulk_fini(pair, &bulk);
    pair_free_room(pair);
}
