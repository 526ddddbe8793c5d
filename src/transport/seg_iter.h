/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterator over the bytes of a list of segments.
 *
 * Adjacent segments count as one run. Empty segments are skipped. No function
 * reads beyond the end of a list: longer requests stop at the end. */
#ifndef AMG_TRANSPORT_SEG_ITER_H
#define AMG_TRANSPORT_SEG_ITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A contiguous range of memory. */
struct amg_segment {
    void *base; /* may be NULL when len is 0 */
    uint64_t len;
};

/* Is all of `segment` inside `whole`? An empty segment always is. */
static inline bool amg_segment_is_in(
    const struct amg_segment *segment, const struct amg_segment *whole)
{
    uintptr_t into = (uintptr_t)segment->base - (uintptr_t)whole->base;

    return segment->len == 0 ||
           (into <= whole->len && segment->len <= whole->len - into);
}

/* Position of a byte in one segment of a list. */
struct amg_seg_iter {
    const struct amg_segment *segments;
    uint32_t count;
    uint32_t segment; /* index; `count`: at the end of the list */
    uint64_t into;    /* bytes from the start of that segment */
};

/* Address of the position, which must not be the end of the list. Computed as a
 * number: a list of a peer's memory may have any addresses. */
static inline void *amg_seg_iter_at(const struct amg_seg_iter *iter)
{
    return (void *)((uintptr_t)iter->segments[iter->segment].base + iter->into);
}

/* Bytes left in the list, at most `max`. */
uint64_t amg_seg_iter_left(const struct amg_seg_iter *iter, uint64_t max);

/* Is the position valid, with `len` bytes left? The position may come from a
 * peer, and be out of range. */
static inline bool amg_seg_iter_has(
    const struct amg_seg_iter *iter, uint64_t len)
{
    return iter->segment < iter->count &&
           iter->into <= iter->segments[iter->segment].len &&
           amg_seg_iter_left(iter, len) >= len;
}

/* Takes the longest run of adjacent bytes, at most `max`, and advances past it.
 * 0: the end of the list. */
uint64_t amg_seg_iter_take(
    struct amg_seg_iter *iter, uint64_t max, void **ret_at);

/* Advances by `len` bytes. */
void amg_seg_iter_skip(struct amg_seg_iter *iter, uint64_t len);

/* Copies `len` bytes, which the list must have, and advances past them. */
void amg_seg_iter_gather(void *to, struct amg_seg_iter *from, uint64_t len);
void amg_seg_iter_scatter(
    struct amg_seg_iter *to, const void *from, uint64_t len);
/* Copies between two lists, run by run; the runs of one step may overlap. */
void amg_seg_iter_copy(
    struct amg_seg_iter *to, struct amg_seg_iter *from, uint64_t len);

/* Number of runs of the next `len` bytes, at most `max`. */
uint64_t amg_seg_iter_runs(
    const struct amg_seg_iter *iter, uint64_t len, uint64_t max);

/* Are the next `len` bytes in the current segment? */
static inline bool amg_seg_iter_is_here(
    const struct amg_seg_iter *iter, uint64_t len)
{
    return iter->segment < iter->count &&
           iter->into <= iter->segments[iter->segment].len &&
           len <= iter->segments[iter->segment].len - iter->into;
}

/* Has the list `len` more bytes, in one run? */
static inline bool amg_seg_iter_is_whole(
    const struct amg_seg_iter *iter, uint64_t len)
{
    struct amg_seg_iter at = *iter;
    void *from = NULL;

    if (amg_seg_iter_is_here(iter, len))
        return true;
    return amg_seg_iter_take(&at, len, &from) == len;
}

#endif
