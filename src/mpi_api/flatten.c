/* SPDX-License-Identifier: BSD-3-Clause */
/* Flattening of MPI datatypes into runs of bytes. */
#include "mpi_api/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

/* Is `type` derived, so that each reference to the type must be freed? */
static bool comm_contents_is_derived(MPI_Datatype type)
{
    struct amg_mpi_api_contents contents;

    memset(&contents, 0, sizeof(contents));
    if (amg_mpi_api_contents_envelope(type, &contents) != MPI_SUCCESS)
        return false;
    /* A struct without members has no element types, but is derived, too. */
    return contents.type_count > 0 || contents.combiner == MPI_COMBINER_STRUCT;
}

/* Allocates the four lists by their counts. */
static hg_return_t lists_reserve(struct amg_mpi_api_contents *contents)
{
    size_t counts_len = (size_t)contents->count_count * sizeof(MPI_Count);
    size_t addrs_len = (size_t)contents->addr_count * sizeof(MPI_Aint);
    size_t types_len = (size_t)contents->type_count * sizeof(MPI_Datatype);
    size_t ints_len = (size_t)contents->int_count * sizeof(int);
    char *block = amg_mem_alloc(counts_len + addrs_len + types_len + ints_len);

    if (block == NULL)
        return HG_NOMEM;
    contents->block = block; /* widest elements first, to align all lists */
    contents->counts = (MPI_Count *)(void *)block;
    contents->addrs = (MPI_Aint *)(void *)(block + counts_len);
    contents->types = (MPI_Datatype *)(void *)(block + counts_len + addrs_len);
    contents->ints =
        (int *)(void *)(block + counts_len + addrs_len + types_len);
    return HG_SUCCESS;
}

static hg_return_t refuse_reading(int err)
{
    AMG_LOG_ERROR("bulk", "MPI cannot decode a datatype: error %d", err);
    return HG_NA_ERROR;
}

static void comm_contents_fini(struct amg_mpi_api_contents *contents)
{
    int64_t i = 0;

    for (i = 0; i < contents->type_count; i++)
        if (comm_contents_is_derived(contents->types[i]))
            MPI_Type_free(&contents->types[i]);
    amg_mem_free(contents->block);
    memset(contents, 0, sizeof(*contents));
}

/* Reads a valid type. HG_NOMEM, or HG_NA_ERROR when MPI fails. */
static hg_return_t mpi_api_contents_read(
    MPI_Datatype type, struct amg_mpi_api_contents *ret_contents)
{
    struct amg_mpi_api_contents contents;
    hg_return_t rc = HG_SUCCESS;
    int err = MPI_SUCCESS;

    memset(&contents, 0, sizeof(contents));
    err = amg_mpi_api_contents_envelope(type, &contents);
    if (err != MPI_SUCCESS)
        return refuse_reading(err);
    if (contents.type_count > 0) { /* else MPI has no lists to read */
        rc = lists_reserve(&contents);
        if (rc != HG_SUCCESS)
            return rc;
        err = amg_mpi_api_contents_lists(type, &contents);
        if (err != MPI_SUCCESS) {
            contents.type_count = 0; /* MPI gave no references */
            comm_contents_fini(&contents);
            return refuse_reading(err);
        }
    }
    *ret_contents = contents;
    return HG_SUCCESS;
}

/* Number `i` of the list of counts: `counts` if is_large, else `ints`. */
static int64_t comm_contents_count(
    const struct amg_mpi_api_contents *contents, int64_t i)
{
    AMG_ASSERT(
        i < (contents->is_large ? contents->count_count : contents->int_count));
    return contents->is_large ? contents->counts[i] : contents->ints[i];
}

/* Displacement `i` in bytes: addrs[i], or counts[before + i] if is_large. */
static int64_t comm_contents_bytes(
    const struct amg_mpi_api_contents *contents, int64_t before, int64_t i)
{
    AMG_ASSERT(contents->is_large ? before + i < contents->count_count
                                  : i < contents->addr_count);
    return contents->is_large ? contents->counts[before + i]
                              : contents->addrs[i];
}

/* Subarrays and distributed arrays are built dimension by dimension, from the
 * dimension with adjacent elements outwards; `step` is the distance in bytes of
 * neighbouring elements in the current dimension. */

/* A dimension of a subarray, or of a process's part of a distributed array. */
struct span {
    int64_t size;   /* elements of the whole grid */
    int64_t start;  /* index of the first element of the part */
    int64_t len;    /* elements in a row of the part */
    int64_t rows;   /* number of rows of `len` elements */
    int64_t period; /* elements from the start of a row to the next start */
    int64_t rest;   /* elements of a last, shorter row; 0: no such row */
};

static hg_return_t refuse_size(void)
{
    AMG_LOG_ERROR("bulk", "the datatype's grid is larger than 2^63 bytes");
    return HG_INVALID_ARG;
}

/* Extends the layout by one dimension; sets `step` for the next dimension. */
static hg_return_t span_apply(
    const struct span *span, int64_t *step, struct amg_mpi_api_layout *layout)
{
    struct amg_mpi_api_layout whole;
    int64_t size = 0;
    int64_t shift = 0;
    int64_t period = 0;
    int64_t rest_at = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!amg_checked_mul(span->size, *step, &size) ||
        !amg_checked_mul(span->start, *step, &shift) ||
        !amg_checked_mul(span->period, *step, &period) ||
        !amg_checked_mul(span->rows, period, &rest_at))
        return refuse_size();
    amg_mpi_api_layout_init(&whole);
    if (span->rest > 0) {
        rc = amg_mpi_api_layout_add(&whole, layout, span->len, *step, 0);
        if (rc == HG_SUCCESS)
            rc = amg_mpi_api_layout_repeat(&whole, span->rows, period);
        if (rc == HG_SUCCESS)
            rc = amg_mpi_api_layout_add(
                &whole, layout, span->rest, *step, rest_at);
        amg_mpi_api_layout_fini(layout);
        *layout = whole;
    } else {
        rc = amg_mpi_api_layout_repeat(layout, span->len, *step);
        if (rc == HG_SUCCESS)
            rc = amg_mpi_api_layout_repeat(layout, span->rows, period);
    }
    *step = size;
    return rc == HG_SUCCESS ? amg_mpi_api_layout_shift(layout, shift) : rc;
}

/* Sets `ret` to a dimension of a subarray. */
static void span_select(
    const struct amg_mpi_api_contents *contents, int64_t dim, struct span *ret)
{
    int64_t dims = contents->ints[0];
    int64_t first = contents->is_large ? 0 : 1; /* index of the sizes */

    *ret = (struct span){
        .size = comm_contents_count(contents, first + dim),
        .len = comm_contents_count(contents, first + dims + dim),
        .start = comm_contents_count(contents, first + 2 * dims + dim),
        .rows = 1,
    };
}

/* Sets `ret` to the part of process `coord` of `procs` in one dimension. */
static void span_distribute(
    int64_t size, int distrib, int darg, int procs, int coord, struct span *ret)
{
    int64_t block = darg;
    int64_t left = 0; /* elements from `start` to the end */

    *ret = (struct span){.size = size, .len = size, .rows = 1};
    if (distrib == MPI_DISTRIBUTE_NONE)
        return;
    if (darg == MPI_DISTRIBUTE_DFLT_DARG)
        block = distrib == MPI_DISTRIBUTE_BLOCK
                    ? size / procs + (size % procs > 0 ? 1 : 0)
                    : 1;
    ret->start = block * coord;
    ret->period = block * procs;
    left = size > ret->start ? size - ret->start : 0;
    ret->len = left < block ? left : block;
    if (distrib == MPI_DISTRIBUTE_BLOCK || left <= block)
        return;
    ret->rows = left / ret->period;
    ret->rest = left % ret->period;
    if (ret->rest >= block) {
        ret->rows++;
        ret->rest = 0;
    }
}

/* The coordinate of `rank` in dimension `dim` of the processes: the last
 * dimension varies fastest, whatever the order of the elements. */
static int coord_of(int rank, const int *procs, int64_t dims, int64_t dim)
{
    int64_t i = 0;

    for (i = dims - 1; i > dim; i--)
        rank /= procs[i];
    return rank % procs[dim];
}

/* Sets `ret` to a dimension of a distributed array. */
static void span_of_process(
    const struct amg_mpi_api_contents *contents, int64_t dim, struct span *ret)
{
    const int *ints = contents->ints;
    int64_t dims = ints[2];
    const int *distribs = ints + 3 + (contents->is_large ? 0 : dims);
    const int *dargs = distribs + dims;
    const int *procs = dargs + dims;

    span_distribute(
        comm_contents_count(contents, contents->is_large ? dim : 3 + dim),
        distribs[dim], dargs[dim], procs[dim],
        coord_of(ints[1], procs, dims, dim), ret);
}

/* Replaces `layout`, that of an element of this `extent`, by the layout of the
 * part of the grid. Errors of amg_mpi_api_layout_add(). */
static hg_return_t grid_build(const struct amg_mpi_api_contents *contents,
    int64_t extent, struct amg_mpi_api_layout *layout)
{
    bool is_subarray = contents->combiner == MPI_COMBINER_SUBARRAY;
    int64_t dims = contents->ints[is_subarray ? 0 : 2];
    /* The order is the last number, in subarrays and distributed arrays. */
    int order = contents->ints[contents->int_count - 1];
    int64_t step = extent;
    hg_return_t rc = HG_SUCCESS;

    for (int64_t i = 0; i < dims && rc == HG_SUCCESS; i++) {
        int64_t dim = order == MPI_ORDER_C ? dims - 1 - i : i;
        struct span span;

        if (is_subarray)
            span_select(contents, dim, &span);
        else
            span_of_process(contents, dim, &span);
        rc = span_apply(&span, &step, layout);
    }
    return rc;
}

/* Types are nested to any depth: the walk over a type keeps its levels on the
 * heap, so that depth costs no stack. A level first gets the layout of its
 * element type, then computes its own layout from that; a struct does so for
 * each member. Adjacent bytes are merged into runs at once, so that an outer
 * level never sees the elements of a dense inner level. */

/* A type on the walk; stays on the heap while its element types are walked. */
struct level {
    struct level *up; /* the enclosing type; NULL: the outermost type */
    MPI_Datatype type;
    struct amg_mpi_api_contents contents;
    int64_t member; /* index of the next element type that is needed */
    struct amg_mpi_api_layout layout;
    MPI_Datatype part_type; /* type that `part` is the layout of */
    bool has_part;          /* `part` is set */
    struct amg_mpi_api_layout part;
};

/* MPI_SHORT_INT, which has a gap between its members. */
struct pair_short_int {
    short one;
    int other;
};

int64_t amg_mpi_api_type_extent(MPI_Datatype type)
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
    MPI_Datatype type, struct amg_mpi_api_layout *layout)
{
    int64_t size = type_size(type);
    MPI_Count low = 0;
    MPI_Count extent = 0;
    hg_return_t rc = HG_SUCCESS;

    MPI_Type_get_true_extent_x(type, &low, &extent);
    if (size == 0 || extent == size)
        return amg_mpi_api_layout_add_run(layout, low, size);
    if (type != MPI_SHORT_INT) {
        AMG_LOG_ERROR("bulk",
            "a predefined datatype has %lld bytes in an extent of %lld: the "
            "positions of its gaps are unknown; use a struct of its members",
            (long long)size, (long long)extent);
        return HG_OPNOTSUPPORTED;
    }
    rc = amg_mpi_api_layout_add_run(layout, 0, sizeof(short));
    if (rc != HG_SUCCESS)
        return rc;
    return amg_mpi_api_layout_add_run(
        layout, offsetof(struct pair_short_int, other), sizeof(int));
}

/* Builds vector and hvector: blocks of elements at equal distances. */
static hg_return_t vector_build(struct level *level)
{
    const struct amg_mpi_api_contents *contents = &level->contents;
    int64_t extent = amg_mpi_api_type_extent(contents->types[0]);
    int64_t count = comm_contents_count(contents, 0);
    int64_t block = comm_contents_count(contents, 1);
    int64_t stride = 0;
    hg_return_t rc = HG_SUCCESS;

    if (contents->combiner == MPI_COMBINER_HVECTOR)
        stride = comm_contents_bytes(contents, 2, 0);
    else if (!amg_checked_mul(
                 comm_contents_count(contents, 2), extent, &stride))
        return refuse_product();
    rc = amg_mpi_api_layout_repeat(&level->layout, block, extent);
    if (rc != HG_SUCCESS)
        return rc;
    return amg_mpi_api_layout_repeat(&level->layout, count, stride);
}

/* Builds all indexed types: blocks of elements at given displacements. */
static hg_return_t indexed_build(struct level *level)
{
    const struct amg_mpi_api_contents *contents = &level->contents;
    int64_t extent = amg_mpi_api_type_extent(contents->types[0]);
    bool is_block = contents->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                    contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    bool is_in_bytes = contents->combiner == MPI_COMBINER_HINDEXED ||
                       contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    int64_t count = comm_contents_count(contents, 0);
    int64_t before = is_block ? 2 : 1 + count; /* numbers before the
                                                * displacements */
    struct amg_mpi_api_layout part = level->layout;
    hg_return_t rc = HG_SUCCESS;
    int64_t i = 0;

    amg_mpi_api_layout_init(&level->layout);
    for (i = 0; i < count && rc == HG_SUCCESS; i++) {
        int64_t block = comm_contents_count(contents, is_block ? 1 : 1 + i);
        int64_t at = 0;

        if (is_in_bytes)
            at = comm_contents_bytes(contents, before, i);
        else if (!amg_checked_mul(
                     comm_contents_count(contents, before + i), extent, &at))
            rc = refuse_product();
        if (rc == HG_SUCCESS)
            rc = amg_mpi_api_layout_add(
                &level->layout, &part, block, extent, at);
    }
    amg_mpi_api_layout_fini(&part);
    return rc;
}

/* Computes the layout of a level from the layout of its only element type. */
static hg_return_t level_build(struct level *level)
{
    const struct amg_mpi_api_contents *contents = &level->contents;
    int64_t extent = amg_mpi_api_type_extent(contents->types[0]);

    level->layout = level->part;
    amg_mpi_api_layout_init(&level->part);
    if (level->layout.count == 0) /* empty elements make an empty type */
        return HG_SUCCESS;
    switch (contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return HG_SUCCESS;
    case MPI_COMBINER_CONTIGUOUS:
        return amg_mpi_api_layout_repeat(
            &level->layout, comm_contents_count(contents, 0), extent);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return vector_build(level);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed_build(level);
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        return grid_build(contents, extent, &level->layout);
    default:
        AMG_LOG_ERROR("bulk",
            "a datatype has the combiner %d, which this version does not know; "
            "create it by MPI_Type_create_struct()",
            contents->combiner);
        return HG_OPNOTSUPPORTED;
    }
}

/* Adds members of a struct, until a member is not of the type of `part`. */
static hg_return_t members_add(struct level *level)
{
    const struct amg_mpi_api_contents *contents = &level->contents;
    int64_t count = contents->type_count;
    int64_t extent = 0;
    hg_return_t rc = HG_SUCCESS;

    if (level->has_part)
        extent = amg_mpi_api_type_extent(level->part_type);
    for (; level->member < count && rc == HG_SUCCESS; level->member++) {
        int64_t block = comm_contents_count(contents, 1 + level->member);
        int64_t at = comm_contents_bytes(contents, 1 + count, level->member);

        if (block == 0)
            continue;
        if (!level->has_part ||
            contents->types[level->member] != level->part_type)
            break;
        rc = amg_mpi_api_layout_add(
            &level->layout, &level->part, block, extent, at);
    }
    return rc;
}

/* Builds the layout of the level as far as possible. `*ret_is_ready` false: the
 * layout of the type of `member` is needed first. */
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

/* Adds a level on top. On an error no level was added. */
static hg_return_t level_push(MPI_Datatype type, struct level **top)
{
    struct level *level = amg_mem_zalloc(sizeof(*level));
    hg_return_t rc = HG_NOMEM;

    if (level == NULL)
        return HG_NOMEM;
    level->up = *top;
    level->type = type;
    amg_mpi_api_layout_init(&level->layout);
    amg_mpi_api_layout_init(&level->part);
    /* Types of size 0 are walked, too: MPICH 4.0.2 returns 0, or less, for a
     * size that exceeds its integer. */
    rc = mpi_api_contents_read(type, &level->contents);
    if (rc == HG_SUCCESS && level->contents.type_count == 0)
        rc = predefined_flatten(type, &level->layout);
    if (rc != HG_SUCCESS) {
        amg_mpi_api_layout_fini(&level->layout);
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
    comm_contents_fini(&level->contents);
    amg_mpi_api_layout_fini(&level->layout);
    amg_mpi_api_layout_fini(&level->part);
    amg_mem_free(level);
}

/* Removes the top level; passes its layout to `up`, if any, else to `ret`. */
static void level_deliver(struct level **top, struct amg_mpi_api_layout *ret)
{
    struct level *level = *top;
    struct level *up = level->up;

    if (up == NULL) {
        *ret = level->layout;
    } else {
        amg_mpi_api_layout_fini(&up->part);
        up->part = level->layout;
        up->part_type = level->type;
        up->has_part = true;
    }
    amg_mpi_api_layout_init(&level->layout);
    level_pop(top);
}

hg_return_t amg_mpi_api_type_flatten(
    MPI_Datatype type, struct amg_mpi_api_layout *ret_layout)
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
