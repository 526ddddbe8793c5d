/* SPDX-License-Identifier: BSD-3-Clause */
/* From an MPI datatype to the bytes it names.
 *
 * Types are nested, and nobody says how deep: the walk keeps its levels on the
 * heap, so that depth costs no stack. A level first gets the layout of the type
 * it is made of, then makes its own of that; a struct does so for each of its
 * members. What stands next to each other is one run from the start, so that a
 * level above never sees the elements of a dense one below. */
#include "comm/flatten.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/log.h"
#include "base/mem.h"
#include "comm/grid.h"

/* One type of the walk, on the heap while the types it is made of are seen. */
struct level {
    struct level *up; /* NULL: the type asked for */
    MPI_Datatype type;
    struct amg_comm_contents contents;
    int64_t member; /* the next one that is needed */
    struct amg_comm_layout layout;
    MPI_Datatype part_type; /* what `part` is the layout of ... */
    bool has_part;          /* ... if this is set */
    struct amg_comm_layout part;
};

/* What MPI's two types in one look like, where they have a gap inside. */
struct pair_short_int {
    short one;
    int other;
};

int64_t amg_comm_type_extent(MPI_Datatype type)
{
    MPI_Count low = 0;
    MPI_Count extent = 0;

    MPI_Type_get_extent_x(type, &low, &extent);
    return extent;
}

static int64_t type_size(MPI_Datatype type)
{
    MPI_Count size = 0;

    MPI_Type_size_x(type, &size);
    return size;
}

static hg_return_t refuse_product(void)
{
    AMG_LOG_ERROR("bulk",
        "a displacement or stride of the datatype is beyond 2^63 bytes");
    return HG_INVALID_ARG;
}

static hg_return_t predefined_flatten(
    MPI_Datatype type, struct amg_comm_layout *layout)
{
    int64_t size = type_size(type);
    MPI_Count low = 0;
    MPI_Count extent = 0;
    hg_return_t rc = HG_SUCCESS;

    MPI_Type_get_true_extent_x(type, &low, &extent);
    if (size == 0 || extent == size)
        return amg_comm_layout_add_run(layout, low, size);
    if (type != MPI_SHORT_INT) {
        AMG_LOG_ERROR("bulk",
            "a predefined datatype of %lld bytes within %lld: where its gaps "
            "lie is not known; make a struct of its members",
            (long long)size, (long long)extent);
        return HG_OPNOTSUPPORTED;
    }
    rc = amg_comm_layout_add_run(layout, 0, sizeof(short));
    if (rc != HG_SUCCESS)
        return rc;
    return amg_comm_layout_add_run(
        layout, offsetof(struct pair_short_int, other), sizeof(int));
}

/* vector and hvector: blocks of `part`, at equal distances. */
static hg_return_t vector_build(struct level *level)
{
    const struct amg_comm_contents *contents = &level->contents;
    int64_t extent = amg_comm_type_extent(contents->types[0]);
    int64_t count = amg_comm_contents_count(contents, 0);
    int64_t block = amg_comm_contents_count(contents, 1);
    int64_t stride = 0;
    hg_return_t rc = HG_SUCCESS;

    if (contents->combiner == MPI_COMBINER_HVECTOR)
        stride = amg_comm_contents_bytes(contents, 2, 0);
    else if (!amg_checked_mul(
                 amg_comm_contents_count(contents, 2), extent, &stride))
        return refuse_product();
    rc = amg_comm_layout_repeat(&level->layout, block, extent);
    if (rc != HG_SUCCESS)
        return rc;
    return amg_comm_layout_repeat(&level->layout, count, stride);
}

/* All kinds of indexed: blocks of `part`, each at its own place. */
static hg_return_t indexed_build(struct level *level)
{
    const struct amg_comm_contents *contents = &level->contents;
    int64_t extent = amg_comm_type_extent(contents->types[0]);
    bool is_block = contents->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                    contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    bool is_in_bytes = contents->combiner == MPI_COMBINER_HINDEXED ||
                       contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    int64_t count = amg_comm_contents_count(contents, 0);
    int64_t before = is_block ? 2 : 1 + count; /* numbers before the places */
    struct amg_comm_layout part = level->layout;
    hg_return_t rc = HG_SUCCESS;
    int64_t i = 0;

    amg_comm_layout_init(&level->layout);
    for (i = 0; i < count && rc == HG_SUCCESS; i++) {
        int64_t block = amg_comm_contents_count(contents, is_block ? 1 : 1 + i);
        int64_t at = 0;

        if (is_in_bytes)
            at = amg_comm_contents_bytes(contents, before, i);
        else if (!amg_checked_mul(amg_comm_contents_count(contents, before + i),
                     extent, &at))
            rc = refuse_product();
        if (rc == HG_SUCCESS)
            rc = amg_comm_layout_add(&level->layout, &part, block, extent, at);
    }
    amg_comm_layout_fini(&part);
    return rc;
}

/* Makes the layout of a level from that of the one type it is made of. */
static hg_return_t level_build(struct level *level)
{
    const struct amg_comm_contents *contents = &level->contents;
    int64_t extent = amg_comm_type_extent(contents->types[0]);

    level->layout = level->part;
    amg_comm_layout_init(&level->part);
    if (level->layout.count == 0) /* whatever is made of nothing is nothing */
        return HG_SUCCESS;
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return HG_SUCCESS;
    case MPI_COMBINER_CONTIGUOUS:
        return amg_comm_layout_repeat(
            &level->layout, amg_comm_contents_count(contents, 0), extent);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return vector_build(level);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed_build(level);
    case MPI_COMBINER_SUBARRAY:
        return amg_comm_grid_subarray(contents, extent, &level->layout);
    case MPI_COMBINER_DARRAY:
        return amg_comm_grid_darray(contents, extent, &level->layout);
    default:
        AMG_LOG_ERROR("bulk",
            "a datatype made by combiner %d, which this version does not "
            "know; make it by MPI_Type_create_struct()",
            contents->combiner);
        return HG_OPNOTSUPPORTED;
    }
}

/* Adds members of a struct as far as the present part is theirs. */
static hg_return_t members_add(struct level *level)
{
    const struct amg_comm_contents *contents = &level->contents;
    int64_t count = contents->type_count;
    int64_t extent = 0;
    hg_return_t rc = HG_SUCCESS;

    if (level->has_part)
        extent = amg_comm_type_extent(level->part_type);
    for (; level->member < count && rc == HG_SUCCESS; level->member++) {
        int64_t block = amg_comm_contents_count(contents, 1 + level->member);
        int64_t at =
            amg_comm_contents_bytes(contents, 1 + count, level->member);

        if (block == 0)
            continue;
        if (!level->has_part ||
            contents->types[level->member] != level->part_type)
            break;
        rc = amg_comm_layout_add(
            &level->layout, &level->part, block, extent, at);
    }
    return rc;
}

/* Goes on as far as it can; `*ret_is_ready`, or `member` is what it needs. */
static hg_return_t level_advance(struct level *level, bool *ret_is_ready)
{
    hg_return_t rc = HG_SUCCESS;

    if (level->contents.combiner == MPI_COMBINER_STRUCT) {
        rc = members_add(level);
    } else if (level->has_part) {
        rc = level_build(level);
        level->member = level->contents.type_count;
    }
    *ret_is_ready = level->member == level->contents.type_count;
    return rc;
}

/* On an error there is no new level. */
static hg_return_t level_push(MPI_Datatype type, struct level **top)
{
    struct level *level = amg_mem_zalloc(sizeof(*level));
    hg_return_t rc = HG_NOMEM;

    if (level == NULL)
        return HG_NOMEM;
    level->up = *top;
    level->type = type;
    amg_comm_layout_init(&level->layout);
    amg_comm_layout_init(&level->part);
    /* Empty types are walked, too: where their bytes are more than it can
     * count, MPI (MPICH 4.0.2) says 0, or less. */
    rc = amg_comm_contents_read(type, &level->contents);
    if (rc == HG_SUCCESS && level->contents.type_count == 0)
        rc = predefined_flatten(type, &level->layout);
    if (rc != HG_SUCCESS) {
        amg_comm_layout_fini(&level->layout);
        amg_mem_free(level);
        return rc;
    }
    *top = level;
    return HG_SUCCESS;
}

static void level_pop(struct level **top)
{
    struct level *level = *top;

    *top = level->up;
    amg_comm_contents_fini(&level->contents);
    amg_comm_layout_fini(&level->layout);
    amg_comm_layout_fini(&level->part);
    amg_mem_free(level);
}

/* Gives the layout of the topmost level to who asked for it. */
static void level_deliver(struct level **top, struct amg_comm_layout *ret)
{
    struct level *level = *top;
    struct level *up = level->up;

    if (up == NULL) {
        *ret = level->layout;
    } else {
        amg_comm_layout_fini(&up->part);
        up->part = level->layout;
        up->part_type = level->type;
        up->has_part = true;
    }
    amg_comm_layout_init(&level->layout);
    level_pop(top);
}

hg_return_t amg_comm_type_flatten(
    MPI_Datatype type, struct amg_comm_layout *ret_layout)
{
    struct level *top = NULL;
    hg_return_t rc = level_push(type, &top);

    while (rc == HG_SUCCESS && top != NULL) {
        bool is_ready = false;

        rc = level_advance(top, &is_ready);
        if (rc != HG_SUCCESS)
            break;
        if (is_ready)
            level_deliver(&top, ret_layout);
        else
            rc = level_push(top->contents.types[top->member], &top);
    }
    while (top != NULL)
        level_pop(&top);
    return rc;
}
