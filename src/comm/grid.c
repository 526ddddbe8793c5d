/* SPDX-License-Identifier: BSD-3-Clause */
/* The two datatypes that are parts of a grid: subarray and darray.
 *
 * Both are built dimension by dimension, from the one whose elements lie next
 * to each other outwards; `step` is how far apart elements of the present one
 * are. */
#include "comm/grid.h"

#include "base/checked.h"
#include "base/log.h"

/* What a part takes of one dimension. */
struct span {
    int64_t size;   /* of the whole grid */
    int64_t start;  /* the first element of the part */
    int64_t len;    /* elements in a row */
    int64_t rows;   /* how many rows of that length ... */
    int64_t period; /* ... so many elements from start to start */
    int64_t rest;   /* elements in one more row, shorter */
};

static hg_return_t refuse_size(void)
{
    AMG_LOG_ERROR("bulk", "the datatype's grid is larger than 2^63 bytes");
    return HG_INVALID_ARG;
}

/* Lays the elements out that one dimension takes; moves `step` to the next. */
static hg_return_t span_apply(
    const struct span *span, int64_t *step, struct amg_comm_layout *layout)
{
    struct amg_comm_layout whole;
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
    amg_comm_layout_init(&whole);
    if (span->rest > 0) {
        rc = amg_comm_layout_add(&whole, layout, span->len, *step, 0);
        if (rc == HG_SUCCESS)
            rc = amg_comm_layout_repeat(&whole, span->rows, period);
        if (rc == HG_SUCCESS)
            rc =
                amg_comm_layout_add(&whole, layout, span->rest, *step, rest_at);
        amg_comm_layout_fini(layout);
        *layout = whole;
    } else {
        rc = amg_comm_layout_repeat(layout, span->len, *step);
        if (rc == HG_SUCCESS)
            rc = amg_comm_layout_repeat(layout, span->rows, period);
    }
    *step = size;
    return rc == HG_SUCCESS ? amg_comm_layout_shift(layout, shift) : rc;
}

hg_return_t amg_comm_grid_subarray(const struct amg_comm_contents *contents,
    int64_t extent, struct amg_comm_layout *layout)
{
    const int *order = &contents->ints[contents->int_count - 1];
    int64_t dims = contents->ints[0];
    int64_t first = contents->is_large ? 0 : 1; /* place of the sizes */
    int64_t step = extent;
    int64_t i = 0;
    hg_return_t rc = HG_SUCCESS;

    for (i = 0; i < dims && rc == HG_SUCCESS; i++) {
        int64_t dim = *order == MPI_ORDER_C ? dims - 1 - i : i;
        struct span span = {
            .size = amg_comm_contents_count(contents, first + dim),
            .len = amg_comm_contents_count(contents, first + dims + dim),
            .start = amg_comm_contents_count(contents, first + 2 * dims + dim),
            .rows = 1,
        };

        rc = span_apply(&span, &step, layout);
    }
    return rc;
}

/* The part of process `coord` out of `procs` in a dimension of `size`. */
static void span_distribute(
    int64_t size, int distrib, int darg, int procs, int coord, struct span *ret)
{
    int64_t block = darg;
    int64_t left = 0; /* elements from the first one of the process on */

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

/* The place of `rank` in each dimension: the last one counts fastest, whatever
 * the order of the elements. */
static int coord_of(int rank, const int *procs, int64_t dims, int64_t dim)
{
    int64_t i = 0;

    for (i = dims - 1; i > dim; i--)
        rank /= procs[i];
    return rank % procs[dim];
}

hg_return_t amg_comm_grid_darray(const struct amg_comm_contents *contents,
    int64_t extent, struct amg_comm_layout *layout)
{
    const int *ints = contents->ints;
    int rank = ints[1];
    int64_t dims = ints[2];
    const int *distribs = ints + 3 + (contents->is_large ? 0 : dims);
    const int *dargs = distribs + dims;
    const int *procs = dargs + dims;
    int order = procs[dims];
    int64_t step = extent;
    int64_t i = 0;
    hg_return_t rc = HG_SUCCESS;

    for (i = 0; i < dims && rc == HG_SUCCESS; i++) {
        int64_t dim = order == MPI_ORDER_C ? dims - 1 - i : i;
        int coord = coord_of(rank, procs, dims, dim);
        struct span span;

        span_distribute(amg_comm_contents_count(
                            contents, contents->is_large ? dim : 3 + dim),
            distribs[dim], dargs[dim], procs[dim], coord, &span);
        rc = span_apply(&span, &step, layout);
    }
    return rc;
}
