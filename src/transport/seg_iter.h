/* SPDX-License-Identifier: BSD-3-Clause */
/* A place in a list of segments, and moving bytes from there on.
 *
 * What is adjacent in memory counts as one run, whatever the list says. Empty
 * segments are passed over. Nothing here looks behind the end of a list: what
 * is asked for beyond it ends there. */
#ifndef AMG_TRANSPORT_PLACE_H
#define AMG_TRANSPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One contiguous piece of memory. */
struct amg_segment {
    void *base; /* may be NULL when len is 0 */
    uint64_t len;
};

/* Is all of it inside of `whole`? What is empty is inside of anything. */
static inline bool amg_segment_is_in(
    const struct amg_segment *segment, const struct amg_segment *whole)
{
    uintptr_t into = (uintptr_t)segment->base - (uintptr_t)whole->base;

    return segment->len == 0 ||
           (into <= whole->len && segment->len <= whole->len - into);
}

/* A byte of one segment, and all that follows it in the list. */
struct amg_seg_iter {
    const struct amg_segment *segments;
    uint32_t count;
    uint32_t segment; /* below count, or the end of the list */
    uint64_t into;    /* bytes from the start of that segment */
};

/* Where the place is. It must not be at an end of the list. What a list says
 * of a peer's memory may be anything: it is counted as a number. */
static inline void *amg_seg_iter_at(const struct amg_seg_iter *place)
{
    return (
        void *)((uintptr_t)place->segments[place->segment].base + place->into);
}

/* Bytes that follow, or `max` when there are at least so many. */
uint64_t amg_seg_iter_left(const struct amg_seg_iter *place, uint64_t max);

/* Are there `len` bytes, and does the place exist? It may be anywhere, as a
 * peer says it. */
static inline bool amg_seg_iter_has(
    const struct amg_seg_iter *place, uint64_t len)
{
    return place->segment < place->count &&
           place->into <= place->segments[place->segment].len &&
           amg_seg_iter_left(place, len) >= len;
}

/* Takes the longest run of adjacent bytes, at most `max`, and moves behind it.
 * 0: the list has ended. */
uint64_t amg_seg_iter_take(
    struct amg_seg_iter *place, uint64_t max, void **ret_at);

/* Moves on by `len` bytes. */
void amg_seg_iter_skip(struct amg_seg_iter *place, uint64_t len);

/* Copies `len` bytes, which the list has, and moves behind them. */
void amg_seg_iter_gather(void *to, struct amg_seg_iter *from, uint64_t len);
void amg_seg_iter_scatter(
    struct amg_seg_iter *to, const void *from, uint64_t len);
/* Between two lists; runs may be the same memory. */
void amg_seg_iter_copy(
    struct amg_seg_iter *to, struct amg_seg_iter *from, uint64_t len);

/* How many runs the next `len` bytes are in; at most `max` are counted. */
uint64_t amg_seg_iter_runs(
    const struct amg_seg_iter *place, uint64_t len, uint64_t max);

/* Are the next `len` bytes in the very segment that it stands in? */
static inline bool amg_seg_iter_is_here(
    const struct amg_seg_iter *place, uint64_t len)
{
    return place->segment < place->count &&
           place->into <= place->segments[place->segment].len &&
           len <= place->segments[place->segment].len - place->into;
}

/* Are the next `len` bytes there, and in one run? */
static inline bool amg_seg_iter_is_whole(
    const struct amg_seg_iter *place, uint64_t len)
{
    struct amg_seg_iter at = *place;
    void *from = NULL;

    if (amg_seg_iter_is_here(place, len))
        return true;
    return amg_seg_iter_take(&at, len, &from) == len;
}

#endif
