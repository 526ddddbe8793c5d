/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the target exposes, the caller's room for it, and their bytes;
 * and our side of the rows, HG_Bulk_transfer().
 *
 * All bytes are written before each batch, and verified after it, outside of
 * the measured time. */
#include "jobs/bench/raw/bulk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/wakeup.h"

enum {
    BATCH_BYTES = 32 * 1024 * 1024,
    CALLS_MAX = 200,
    WARM = 8,
    WARM_SIZE_MAX = 65536,
};

void like_open(struct pair *pair, size_t len, struct like *ret_like)
{
    void *mapped = MAP_FAILED;
    int is_mapped = 0;
    int fd = -1;

    *ret_like = (struct like){.len = len};
    if (pair->rank == 1) {
        fd = memfd_create("amalgam_bench", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)len) != 0)
            pair_fail(pair, "no file of %zu bytes in memory: %s", len,
                strerror(errno));
    }
    if (pair->is_one_machine)
        fd = hand_over(pair, fd);
    if (fd >= 0)
        mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    is_mapped = mapped != MAP_FAILED;
    if (!is_mapped && pair->rank == 1)
        pair_fail(pair, "cannot map %zu bytes: %s", len, strerror(errno));
    if (!is_mapped)
        pair_say(pair, "the rows against memcpy are left out: no memory is "
                       "shared with the other rank");
    else
        ret_like->base = mapped;
    MPI_Allreduce(MPI_IN_PLACE, &is_mapped, 1, MPI_INT, MPI_MIN, pair->comm);
    if (fd >= 0)
        close(fd);
    ret_like->is_shared = is_mapped != 0;
    /* Allocates the pages, and maps them at both ranks. */
    if (ret_like->base != NULL)
        memset(ret_like->base, 0, len);
    MPI_Barrier(pair->comm);
}

void like_close(struct like *like)
{
    if (like->base != NULL)
        munmap(like->base, like->len);
    like->base = NULL;
}

/* Fills or verifies the blocks at one end of a transfer, `len` bytes in all;
 * each block has bytes of its own. */
static void blocks_do(const struct pair *pair, const struct bulk *bulk,
    unsigned char *base, size_t stride, size_t len, bool is_fill)
{
    struct pair own = {.rank = pair->rank, .seed = pair->seed};

    for (size_t at = 0; base != NULL && at < len; at += bulk->shape.block) {
        size_t part =
            len - at < bulk->shape.block ? len - at : bulk->shape.block;

        if (is_fill)
            pattern_fill(base, part, own.seed);
        else
            pair_verify(&own, base, part, "the bulk data");
        base += stride;
        own.seed++;
    }
}

/* Fills the end from which bytes come, or verifies the other end. */
static void bulk_do(struct pair *pair, const struct bulk *bulk,
    unsigned char *far, size_t len, bool is_fill)
{
    if (bulk->is_push == is_fill)
        blocks_do(pair, bulk, pair->is_caller ? pair->room : NULL,
            bulk->shape.near_stride, len, is_fill);
    else
        blocks_do(pair, bulk, far, bulk->shape.far_stride, len, is_fill);
}

void bulk_fill(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far)
{
    bulk_do(pair, bulk, far, duel->window * duel->size, true);
    MPI_Barrier(pair->comm);
}

void bulk_verify(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far)
{
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;

    MPI_Barrier(pair->comm);
    bulk_do(pair, bulk, far, used * duel->size, false);
}

/* A bulk handle of blocks; blocks without gaps are one segment. */
static hg_bulk_t blocks_create(struct pair *pair,
    const struct bulk_shape *shape, unsigned char *base, size_t stride)
{
    uint32_t count = stride == shape->block ? 1 : shape->blocks;
    hg_bulk_t handle = HG_BULK_NULL;
    void **bases = pair_alloc(pair, count, sizeof(*bases));
    hg_size_t *lens = pair_alloc(pair, count, sizeof(*lens));

    for (uint32_t i = 0; i < count; i++) {
        bases[i] = base + i * stride;
        lens[i] = shape->block;
    }
    if (count == 1)
        lens[0] = (hg_size_t)shape->blocks * shape->block;
    CHECK(pair, HG_Bulk_create(
                    pair->cls, count, bases, lens, HG_BULK_READWRITE, &handle));
    free(bases);
    free(lens);
    return handle;
}

/* Exposes, at the target, its landing or as much memory of the library. The
 * handle of library memory in one piece is exposed itself. */
static void expose(struct pair *pair, struct bulk *bulk)
{
    const struct bulk_shape *shape = &bulk->shape;
    hg_size_t len = pair->room_len;
    void *memory = pair->landing;

    if (shape->is_library) {
        CHECK(pair, HG_Bulk_create(pair->cls, 1, NULL, &len, HG_BULK_READWRITE,
                        &bulk->holder));
        CHECK(pair, HG_Bulk_access(bulk->holder, 0, len, HG_BULK_READWRITE, 1,
                        &memory, NULL, NULL));
    }
    bulk->far = memory;
    if (shape->is_library && shape->blocks == 1 && shape->block == len) {
        bulk->exposed = bulk->holder;
        bulk->holder = HG_BULK_NULL;
        return;
    }
    bulk->exposed = blocks_create(pair, shape, memory, shape->far_stride);
}

/* Sends the exposed handle to the caller. */
static void descriptor_pass(struct pair *pair, struct bulk *bulk)
{
    int target = pair->is_target ? pair->rank : 1 - pair->rank;
    hg_size_t len = 0;
    void *bytes = NULL;

    if (pair->is_target)
        len = HG_Bulk_get_serialize_size(bulk->exposed, 0);
    MPI_Bcast(&len, sizeof(len), MPI_BYTE, target, pair->comm);
    bytes = pair_alloc(pair, 1, len);
    if (pair->is_target)
        CHECK(pair, HG_Bulk_serialize(bytes, len, 0, bulk->exposed));
    MPI_Bcast(bytes, (int)len, MPI_BYTE, target, pair->comm);
    if (pair->is_caller)
        CHECK(pair, HG_Bulk_deserialize(pair->cls, &bulk->theirs, bytes, len));
    free(bytes);
}

void bulk_open(struct pair *pair, const struct bulk_shape *shape,
    const struct like *like, struct bulk *ret_bulk)
{
    *ret_bulk = (struct bulk){.shape = *shape, .like = like};
    ret_bulk->end = shape->is_library ? like->base : pair->landing;
    if (pair->is_target)
        expose(pair, ret_bulk);
    descriptor_pass(pair, ret_bulk);
    if (pair->is_caller)
        ret_bulk->ours =
            blocks_create(pair, shape, pair->room, shape->near_stride);
}

void bulk_close(struct pair *pair, struct bulk *bulk)
{
    CHECK(pair, HG_Bulk_free(bulk->theirs));
    CHECK(pair, HG_Bulk_free(bulk->ours));
    MPI_Barrier(pair->comm);
    CHECK(pair, HG_Bulk_free(bulk->exposed));
    CHECK(pair, HG_Bulk_free(bulk->holder));
}

unsigned bulk_calls(size_t size, unsigned window)
{
    size_t calls = BATCH_BYTES / (size + 1);

    if (calls < 2 * window)
        return 2 * window;
    return calls > CALLS_MAX ? (unsigned)CALLS_MAX : (unsigned)calls;
}

unsigned bulk_warm(size_t size)
{
    return size > WARM_SIZE_MAX ? 0 : WARM;
}

static void move_post(struct flight_slot *slot)
{
    struct pair *pair = slot->flight->pair;
    const struct duel *duel = slot->flight->arg;
    const struct bulk *bulk = duel->arg;
    hg_size_t offset = slot->number * duel->size;

    CHECK(pair, HG_Bulk_transfer(pair->context, flight_call_ended, slot,
                    bulk->is_push ? HG_BULK_PUSH : HG_BULK_PULL, pair->peer,
                    bulk->theirs, offset, bulk->ours, offset, duel->size,
                    HG_OP_ID_IGNORE));
}

double bulk_move(struct pair *pair, struct duel *duel)
{
    const struct bulk *bulk = duel->arg;
    struct flight flight = {pair, .arg = duel, .post = move_post,
        .look = flight_turn, .window = duel->window, .timed_every = 1};
    double elapsed_us = 0.0;

    bulk_fill(pair, duel, bulk, bulk->far);
    elapsed_us = flight_served(&flight, duel);
    bulk_verify(pair, duel, bulk, bulk->far);
    return elapsed_us;
}
