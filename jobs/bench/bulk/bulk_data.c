/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the target exposes, the caller's room for it, and their bytes.
 *
 * All bytes are written anew for each batch, and looked at after it, outside of
 * the measured time. Those of blocks are as if they lay in one piece. */
#include "jobs/bench/bulk/bulk_data.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/bench/base/pattern.h"

enum { TAG = 2 };

/* Blocks at one end of a transfer. */
struct view {
    unsigned char *base; /* NULL: not of this process */
    size_t block;
    size_t stride;
};

static struct view near_view(const struct pair *pair, const struct bulk *bulk)
{
    struct view view = {pair->is_caller ? pair->room : NULL, bulk->shape.block,
        bulk->shape.near_stride};

    return view;
}

static struct view far_view(const struct bulk *bulk, unsigned char *far)
{
    struct view view = {far, bulk->shape.block, bulk->shape.far_stride};

    return view;
}

/* From one piece to the blocks, or from them. */
static void blocks_copy(
    const struct view *view, unsigned char *piece, size_t len, bool is_to)
{
    for (size_t at = 0, i = 0; at < len; at += view->block, i++) {
        unsigned char *block = view->base + i * view->stride;
        size_t part = len - at < view->block ? len - at : view->block;

        memcpy(is_to ? block : piece + at, is_to ? piece + at : block, part);
    }
}

void bulk_fill(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far)
{
    struct view view =
        bulk->is_push ? near_view(pair, bulk) : far_view(bulk, far);
    size_t len = duel->window * duel->size;

    if (view.base != NULL && view.stride == view.block) {
        pattern_fill(view.base, len, pair->seed);
    } else if (view.base != NULL) {
        pattern_fill(bulk->scratch, len, pair->seed);
        blocks_copy(&view, bulk->scratch, len, true);
    }
    MPI_Barrier(pair->comm);
}

void bulk_verify(struct pair *pair, const struct duel *duel,
    const struct bulk *bulk, unsigned char *far)
{
    struct view view =
        bulk->is_push ? far_view(bulk, far) : near_view(pair, bulk);
    unsigned used = duel->window < duel->calls ? duel->window : duel->calls;
    size_t len = used * duel->size;

    MPI_Barrier(pair->comm);
    if (view.base != NULL && view.stride == view.block) {
        pair_verify(pair, view.base, len, "the bulk data");
    } else if (view.base != NULL) {
        blocks_copy(&view, bulk->scratch, len, false);
        pair_verify(pair, bulk->scratch, len, "the blocks");
    }
}

/* A handle of blocks; one that has no gaps is one segment. */
static hg_bulk_t blocks_create(struct pair *pair,
    const struct bulk_shape *shape, unsigned char *base, size_t stride)
{
    uint32_t count = stride == shape->block ? 1 : shape->blocks;
    hg_bulk_t handle = HG_BULK_NULL;
    void **bases = calloc(count, sizeof(*bases));
    hg_size_t *lens = calloc(count, sizeof(*lens));

    if (bases == NULL || lens == NULL)
        pair_fail(pair, "no memory for a list of %u blocks", count);
    for (uint32_t i = 0; i < count; i++) {
        bases[i] = base + i * stride;
        lens[i] = shape->block;
    }
    if (count == 1)
        lens[0] = (hg_size_t)shape->blocks * shape->block;
    pair_check(pair,
        HG_Bulk_create(
            pair->cls, count, bases, lens, HG_BULK_READWRITE, &handle),
        "HG_Bulk_create");
    free(bases);
    free(lens);
    return handle;
}

/* Memory of the library, as long as the room. */
static void *library_take(struct pair *pair, struct bulk *bulk)
{
    hg_size_t len = pair->room_len;
    void *memory = NULL;

    pair_check(pair,
        HG_Bulk_create(
            pair->cls, 1, NULL, &len, HG_BULK_READWRITE, &bulk->holder),
        "HG_Bulk_create");
    pair_check(pair,
        HG_Bulk_access(
            bulk->holder, 0, len, HG_BULK_READWRITE, 1, &memory, NULL, NULL),
        "HG_Bulk_access");
    return memory;
}

/* The target's: its landing, or as much from the library. Where one piece of
 * the library is exposed, its own handle does that. */
static void expose(struct pair *pair, struct bulk *bulk)
{
    const struct bulk_shape *shape = &bulk->shape;

    bulk->far = shape->is_library ? library_take(pair, bulk) : pair->landing;
    if (shape->is_library && shape->blocks == 1 &&
        shape->block == pair->room_len) {
        bulk->exposed = bulk->holder;
        bulk->holder = HG_BULK_NULL;
        return;
    }
    bulk->exposed = blocks_create(pair, shape, bulk->far, shape->far_stride);
}

/* The exposed handle as bytes, which the caller of this frees. */
static void *descriptor_make(
    struct pair *pair, const struct bulk *bulk, int *ret_len)
{
    hg_size_t len = HG_Bulk_get_serialize_size(bulk->exposed, 0);
    void *bytes = malloc(len);

    if (bytes == NULL)
        pair_fail(pair, "no memory for a descriptor");
    pair_check(pair, HG_Bulk_serialize(bytes, len, 0, bulk->exposed),
        "HG_Bulk_serialize");
    *ret_len = (int)len;
    return bytes;
}

static void *descriptor_receive(struct pair *pair, int *ret_len)
{
    MPI_Status status;
    void *bytes = NULL;

    MPI_Probe(1, TAG, pair->comm, &status);
    MPI_Get_count(&status, MPI_BYTE, ret_len);
    bytes = malloc((size_t)*ret_len);
    if (bytes == NULL)
        pair_fail(pair, "no memory for a descriptor");
    MPI_Recv(bytes, *ret_len, MPI_BYTE, 1, TAG, pair->comm, MPI_STATUS_IGNORE);
    return bytes;
}

static void descriptor_pass(struct pair *pair, struct bulk *bulk)
{
    void *bytes = NULL;
    int len = 0;

    if (pair->is_target)
        bytes = descriptor_make(pair, bulk, &len);
    else if (pair->is_caller)
        bytes = descriptor_receive(pair, &len);
    if (pair->is_target && !pair->is_caller)
        MPI_Send(bytes, len, MPI_BYTE, 0, TAG, pair->comm);
    if (pair->is_caller)
        pair_check(pair,
            HG_Bulk_deserialize(
                pair->cls, &bulk->theirs, bytes, (hg_size_t)len),
            "HG_Bulk_deserialize");
    free(bytes);
}

void bulk_open(struct pair *pair, const struct bulk_shape *shape,
    const struct like *like, struct bulk *ret_bulk)
{
    size_t len = shape->blocks * shape->block;

    *ret_bulk = (struct bulk){.shape = *shape, .like = like};
    ret_bulk->end = shape->is_library ? like->base : pair->landing;
    if (shape->far_stride != shape->block ||
        shape->near_stride != shape->block) {
        ret_bulk->scratch = malloc(len);
        if (ret_bulk->scratch == NULL)
            pair_fail(pair, "no memory for %zu bytes", len);
    }
    if (pair->is_target)
        expose(pair, ret_bulk);
    descriptor_pass(pair, ret_bulk);
    if (pair->is_caller)
        ret_bulk->ours =
            blocks_create(pair, shape, pair->room, shape->near_stride);
}

void bulk_close(struct pair *pair, struct bulk *bulk)
{
    pair_check(pair, HG_Bulk_free(bulk->theirs), "HG_Bulk_free");
    pair_check(pair, HG_Bulk_free(bulk->ours), "HG_Bulk_free");
    MPI_Barrier(pair->comm);
    pair_check(pair, HG_Bulk_free(bulk->exposed), "HG_Bulk_free");
    pair_check(pair, HG_Bulk_free(bulk->holder), "HG_Bulk_free");
    free(bulk->scratch);
    bulk->scratch = NULL;
}
