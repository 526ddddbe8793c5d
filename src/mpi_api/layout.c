/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of a datatype: runs of bytes, in the order of its type map.
 *
 * Every change first checks the lowest and highest offset of the result, and
 * counts its runs, so that the loops that write the runs need no checks. */
#include "mpi_api/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum { CAP_FIRST = 4 };

void amg_mpi_api_layout_init(struct amg_mpi_api_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    layout->copies = 1;
}

void amg_mpi_api_layout_fini(struct amg_mpi_api_layout *layout)
{
    amg_mem_free(layout->runs);
    amg_mpi_api_layout_init(layout);
}

static hg_return_t refuse_place(void)
{
    AMG_LOG_ERROR("bulk", "the datatype overflows 64 bits: in a displacement, "
                          "a length, or their sum");
    return HG_INVALID_ARG;
}

static hg_return_t refuse_count(void)
{
    AMG_LOG_ERROR("bulk",
        "the datatype has 2^32 segments or more, which do not fit into "
        "a descriptor; expose the memory in parts");
    return HG_OVERFLOW;
}

/* Lowest and highest offset, and number of bytes, of copies of a layout. */
struct reach {
    int64_t low;
    int64_t high;
    int64_t len;
};

static bool reach_of(const struct amg_mpi_api_layout *layout, int64_t times,
    int64_t step, int64_t at, struct reach *ret_reach)
{
    int64_t last = 0;

    if (!amg_checked_mul(times - 1, step, &last) ||
        !amg_checked_mul(layout->len, times, &ret_reach->len))
        return false;
    return amg_checked_add(layout->low, last < 0 ? last : 0, &ret_reach->low) &&
           amg_checked_add(ret_reach->low, at, &ret_reach->low) &&
           amg_checked_add(
               layout->high, last > 0 ? last : 0, &ret_reach->high) &&
           amg_checked_add(ret_reach->high, at, &ret_reach->high);
}

/* Extends the bounds and length of `layout` by those of added bytes. */
static bool reach_join(
    struct amg_mpi_api_layout *layout, const struct reach *reach)
{
    int64_t len = 0;

    if (!amg_checked_add(layout->len, reach->len, &len))
        return false;
    if (layout->count == 0 || reach->low < layout->low)
        layout->low = reach->low;
    if (layout->count == 0 || reach->high > layout->high)
        layout->high = reach->high;
    layout->len = len;
    return true;
}

/* Does one copy end where the next one, `step` bytes further, begins? */
static bool has_seam(const struct amg_mpi_api_layout *layout, int64_t step)
{
    const struct amg_mpi_api_run *first = &layout->runs[0];
    const struct amg_mpi_api_run *last = &layout->runs[layout->count - 1];
    /* Within the checked bounds: cannot overflow. */
    int64_t end = last->at + last->len + (layout->copies - 1) * layout->stride;

    return first->at + step == end;
}

/* Runs in `times` copies of `pieces` runs; `is_joined`: the copies touch. */
static uint64_t pieces_count(uint64_t pieces, int64_t times, bool is_joined)
{
    if ((uint64_t)times > UINT32_MAX || pieces > UINT32_MAX)
        return pieces == 1 && is_joined ? 1 : UINT64_MAX;
    pieces = is_joined ? (pieces - 1) * (uint64_t)times + 1
                       : pieces * (uint64_t)times;
    return pieces <= UINT32_MAX ? pieces : UINT64_MAX;
}

uint64_t amg_mpi_api_layout_count(const struct amg_mpi_api_layout *layout)
{
    struct amg_mpi_api_layout one = *layout;

    if (layout->count == 0)
        return 0;
    one.copies = 1;
    return pieces_count(layout->count, layout->copies,
        layout->copies > 1 && has_seam(&one, layout->stride));
}

static hg_return_t runs_reserve(
    struct amg_mpi_api_layout *layout, uint64_t more)
{
    uint64_t cap = layout->cap == 0 ? CAP_FIRST : layout->cap;
    struct amg_mpi_api_run *runs = NULL;

    if (more > UINT32_MAX - layout->count)
        return refuse_count();
    if (layout->count + more <= layout->cap)
        return HG_SUCCESS;
    while (cap < layout->count + more)
        cap *= 2;
    runs = amg_mem_realloc(layout->runs, cap * sizeof(*runs));
    if (runs == NULL)
        return HG_NOMEM;
    layout->runs = runs;
    layout->cap = cap;
    return HG_SUCCESS;
}

/* Appends a run, for which there is room, or extends the last run. */
static inline void run_push(
    struct amg_mpi_api_run *runs, uint64_t *count, int64_t at, int64_t len)
{
    if (*count > 0 && runs[*count - 1].at + runs[*count - 1].len == at) {
        runs[*count - 1].len += len;
        return;
    }
    runs[*count].at = at;
    runs[*count].len = len;
    (*count)++;
}

static void runs_push(struct amg_mpi_api_run *runs, uint64_t *count,
    const struct amg_mpi_api_layout *from, int64_t at)
{
    int64_t copy = 0;

    for (copy = 0; copy < from->copies; copy++)
        for (uint64_t i = 0; i < from->count; i++)
            run_push(runs, count, from->runs[i].at + at + copy * from->stride,
                from->runs[i].len);
}

/* Replaces the copies by their runs. */
static hg_return_t layout_expand(struct amg_mpi_api_layout *layout)
{
    uint64_t total = amg_mpi_api_layout_count(layout);
    struct amg_mpi_api_run *runs = NULL;
    uint64_t count = 0;

    if (layout->copies == 1 || layout->count == 0)
        return HG_SUCCESS;
    if (total > UINT32_MAX)
        return refuse_count();
    runs = amg_mem_alloc(total * sizeof(*runs));
    if (runs == NULL)
        return HG_NOMEM;
    runs_push(runs, &count, layout, 0);
    AMG_ASSERT(count == total);
    amg_mem_free(layout->runs);
    layout->runs = runs;
    layout->count = count;
    layout->cap = total;
    layout->copies = 1;
    return HG_SUCCESS;
}

/* Replaces copies of one run that touch each other by one longer run. */
static void layout_settle(struct amg_mpi_api_layout *layout)
{
    if (layout->count != 1 || layout->copies == 1 ||
        layout->stride != layout->runs[0].len)
        return;
    layout->runs[0].len *= layout->copies;
    layout->copies = 1;
}

hg_return_t amg_mpi_api_layout_add_run(
    struct amg_mpi_api_layout *layout, int64_t at, int64_t len)
{
    struct reach reach = {.low = at, .len = len};
    hg_return_t rc = HG_SUCCESS;

    if (len == 0)
        return HG_SUCCESS;
    if (layout->copies > 1) {
        rc = layout_expand(layout);
        if (rc != HG_SUCCESS)
            return rc;
    }
    rc = runs_reserve(layout, 1);
    if (rc != HG_SUCCESS)
        return rc;
    if (!amg_checked_add(at, len, &reach.high) || !reach_join(layout, &reach))
        return refuse_place();
    run_push(layout->runs, &layout->count, at, len);
    return HG_SUCCESS;
}

static inline bool is_one_run(
    const struct amg_mpi_api_layout *layout, int64_t times, int64_t step)
{
    return layout->count == 1 && layout->copies == 1 &&
           (times == 1 || step == layout->len);
}

hg_return_t amg_mpi_api_layout_add(struct amg_mpi_api_layout *layout,
    const struct amg_mpi_api_layout *other, int64_t times, int64_t step,
    int64_t at)
{
    struct reach reach;
    uint64_t more = 0;
    int64_t i = 0;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(times >= 0);
    if (times == 0 || other->count == 0)
        return HG_SUCCESS;
    if (is_one_run(other, times, step)) {
        if (!amg_checked_mul(other->len, times, &reach.len) ||
            !amg_checked_add(other->low, at, &reach.low))
            return refuse_place();
        return amg_mpi_api_layout_add_run(layout, reach.low, reach.len);
    }
    rc = layout_expand(layout);
    if (rc != HG_SUCCESS)
        return rc;
    if (!reach_of(other, times, step, at, &reach))
        return refuse_place();
    more = pieces_count(amg_mpi_api_layout_count(other), times,
        times > 1 && has_seam(other, step));
    rc = runs_reserve(layout, more);
    if (rc != HG_SUCCESS)
        return rc;
    if (!reach_join(layout, &reach))
        return refuse_place();
    for (i = 0; i < times; i++)
        runs_push(layout->runs, &layout->count, other, at + i * step);
    return HG_SUCCESS;
}

hg_return_t amg_mpi_api_layout_repeat(
    struct amg_mpi_api_layout *layout, int64_t times, int64_t step)
{
    struct reach reach;
    int64_t whole = 0;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(times >= 0);
    if (times == 0)
        amg_mpi_api_layout_fini(layout);
    if (layout->count == 0 || times == 1)
        return HG_SUCCESS;
    if (!reach_of(layout, times, step, 0, &reach))
        return refuse_place();
    if (layout->copies > 1 &&
        amg_checked_mul(layout->copies, layout->stride, &whole) &&
        whole == step) { /* the copies continue at the same stride */
        layout->copies *= times;
    } else {
        rc = layout_expand(layout);
        if (rc != HG_SUCCESS)
            return rc;
        layout->copies = times;
        layout->stride = step;
    }
    layout->low = reach.low;
    layout->high = reach.high;
    layout->len = reach.len;
    layout_settle(layout);
    return HG_SUCCESS;
}

hg_return_t amg_mpi_api_layout_shift(
    struct amg_mpi_api_layout *layout, int64_t by)
{
    struct reach reach;

    if (layout->count == 0 || by == 0)
        return HG_SUCCESS;
    if (!reach_of(layout, 1, 0, by, &reach))
        return refuse_place();
    for (uint64_t i = 0; i < layout->count; i++)
        layout->runs[i].at += by;
    layout->low = reach.low;
    layout->high = reach.high;
    return HG_SUCCESS;
}

void amg_mpi_api_layout_fill(const struct amg_mpi_api_layout *layout,
    uint64_t base, struct amg_segment *ret_segments)
{
    struct amg_segment *next = ret_segments;
    uint64_t end = 0; /* of the segment before `next` */
    int64_t copy = 0;

    for (copy = 0; copy < layout->copies; copy++) {
        uint64_t at = base + (uint64_t)(copy * layout->stride);

        for (uint64_t i = 0; i < layout->count; i++) {
            const struct amg_mpi_api_run *run = &layout->runs[i];
            uint64_t first = at + (uint64_t)run->at;

            if (next > ret_segments && first == end) {
                next[-1].len += (uint64_t)run->len;
            } else {
                next->base = (void *)(uintptr_t)first;
                next->len = (uint64_t)run->len;
                next++;
            }
            end = first + (uint64_t)run->len;
        }
    }
}
