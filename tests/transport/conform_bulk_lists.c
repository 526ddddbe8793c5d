/* SPDX-License-Identifier: BSD-3-Clause */
/* One access moves data between any two lists of segments, however they are
 * split, and touches no other byte. An access beyond a list moves nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

enum {
    TOTAL = 200000, /* bytes of each list: several fragments, not aligned */
    ARENA = 2 * TOTAL + 65536,
    SEGMENTS_MAX = 30000,
    GAP_FILL = 0xa5,
    PERIOD_MAX = 6,
};

/* Lengths of the segments, repeated until TOTAL is reached. An empty segment
 * has no address. */
static const struct shape {
    const char *name;
    unsigned gap; /* bytes between two segments; 0: they are adjacent */
    bool is_descending;
    unsigned period;
    uint64_t lens[PERIOD_MAX];
} shapes[] = {
    {"one run", 0, false, 1, {TOTAL}},
    {"adjacent pieces", 0, false, 3, {1000, 0, 4097}},
    {"rows of 8 bytes", 8, false, 1, {8}},
    {"blocks", 4096, false, 1, {4096}},
    {"odd lengths", 3, false, 6, {1, 0, 70001, 0, 13, 3000}},
    {"backwards", 16, true, 4, {5000, 1, 20000, 7}},
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* From one byte to more than any fragment; across and inside of all borders. */
static const struct span {
    uint64_t mine;   /* its start in the local list, */
    uint64_t theirs; /* and in the exposed one */
    uint64_t len;
} spans[] = {
    {0, 0, TOTAL},
    {0, 0, 1},
    {TOTAL - 1, TOTAL - 1, 1},
    {3, 999, 100},
    {4095, 12, 3800},
    {70000, 11, 20000},
    {1, 40000, 131073},
};

enum { SPANS = sizeof(spans) / sizeof(spans[0]) };

/* A list in its own memory, with the bytes between its segments. */
struct layout {
    unsigned char *arena;
    struct amg_segment *segments;
    uint32_t count;
};

static uint64_t piece_of(const struct shape *shape, uint32_t i, uint64_t left)
{
    uint64_t len = shape->lens[i % shape->period];

    return len < left ? len : left;
}

static void layout_make(
    struct harness *h, const struct shape *shape, struct layout *ret_layout)
{
    uint64_t left = TOTAL;
    uint64_t at = shape->is_descending ? ARENA : 0;

    ret_layout->arena = malloc(ARENA);
    ret_layout->segments = calloc(SEGMENTS_MAX, sizeof(struct amg_segment));
    ret_layout->count = 0;
    CHECK(h, ret_layout->arena != NULL && ret_layout->segments != NULL);
    while (left > 0) {
        uint64_t len = piece_of(shape, ret_layout->count, left);
        void *base = NULL;

        CHECK(h, ret_layout->count < SEGMENTS_MAX);
        if (shape->is_descending)
            at -= len + shape->gap;
        if (len > 0)
            base = ret_layout->arena + at;
        ret_layout->segments[ret_layout->count++] =
            (struct amg_segment){base, len};
        if (!shape->is_descending)
            at += len + shape->gap;
        CHECK(h, at <= ARENA);
        left -= len;
    }
}

static void layout_free(struct layout *layout)
{
    free(layout->segments);
    free(layout->arena);
}

static unsigned char byte_of(uint64_t seed, uint64_t i)
{
    return (unsigned char)((i * 0x9e3779b97f4a7c15ull + seed * 1031) >> 40);
}

/* Fills the bytes `from` to `from + span_len` of the list, in a copy of its
 * arena, with those from byte `theirs` on of the list of `seed`. */
static void layout_write(const struct layout *layout, unsigned char *arena,
    uint64_t from, uint64_t span_len, uint64_t theirs, uint64_t seed)
{
    uint64_t first = 0;

    for (uint32_t i = 0; i < layout->count; i++) {
        const struct amg_segment *segment = &layout->segments[i];
        unsigned char *base = arena;

        if (segment->len > 0)
            base += (unsigned char *)segment->base - layout->arena;
        for (uint64_t k = 0; k < segment->len; k++) {
            uint64_t at = first + k;

            if (at >= from && at < from + span_len)
                base[k] = byte_of(seed, at - from + theirs);
        }
        first += segment->len;
    }
}

/* The position of a byte, found without the iterator under test. */
static struct amg_seg_iter place_of(
    const struct amg_segment *segments, uint32_t count, uint64_t at)
{
    uint32_t i = 0;

    while (i + 1 < count && at >= segments[i].len)
        at -= segments[i++].len;
    return (struct amg_seg_iter){segments, count, i, at};
}

/* Both sides of one case. */
struct sides {
    const char *names[2];
    struct layout local;
    struct layout mine; /* exposed to the left */
    struct amg_key key; /* of the right rank, */
    struct amg_segment *right;
    unsigned char *expected; /* the expected contents of an arena */
};

static void arena_check(struct harness *h, const struct sides *sides,
    const struct layout *layout, const struct span *span, const char *what)
{
    if (memcmp(layout->arena, sides->expected, ARENA) == 0)
        return;
    fprintf(stderr,
        "%s of %llu bytes, local list of %s from %llu, exposed list of %s from "
        "%llu: wrong bytes\n",
        what, (unsigned long long)span->len, sides->names[0],
        (unsigned long long)span->mine, sides->names[1],
        (unsigned long long)span->theirs);
    CHECK(h, !"the bytes are right");
}

static hg_return_t move(struct harness *h, bool is_put,
    const struct sides *sides, const struct span *span)
{
    const struct layout *local = &sides->local;
    struct amg_seg_iter here =
        place_of(local->segments, local->count, span->mine);
    struct amg_remote there = {.key = sides->key,
        .at = place_of(sides->right, sides->mine.count, span->theirs)};
    struct harness_call call;

    CHECK(h,
        harness_move(h, is_put, &here, &there, span->len, &call) == HG_SUCCESS);
    harness_wait_all(h, &call, 1);
    if (call.op.ret == HG_SUCCESS)
        CHECK(h, call.op.len == span->len);
    return call.op.ret;
}

static void span_get(
    struct harness *h, struct sides *sides, const struct span *span)
{
    uint64_t right = (h->rank + 1) % h->size;

    memset(sides->mine.arena, GAP_FILL, ARENA);
    layout_write(&sides->mine, sides->mine.arena, 0, TOTAL, 0, h->rank);
    memset(sides->local.arena, GAP_FILL, ARENA);
    memset(sides->expected, GAP_FILL, ARENA);
    layout_write(&sides->local, sides->expected, span->mine, span->len,
        span->theirs, right);
    harness_sync(h);
    CHECK(h, move(h, false, sides, span) == HG_SUCCESS);
    arena_check(h, sides, &sides->local, span, "get");
    harness_sync(h);
}

static void span_put(
    struct harness *h, struct sides *sides, const struct span *span)
{
    uint64_t left = (h->rank + h->size - 1) % h->size;

    memset(sides->mine.arena, GAP_FILL, ARENA);
    memset(sides->expected, GAP_FILL, ARENA);
    layout_write(&sides->local, sides->local.arena, 0, TOTAL, 0, h->rank);
    layout_write(&sides->mine, sides->expected, span->theirs, span->len,
        span->mine, left);
    harness_sync(h);
    CHECK(h, move(h, true, sides, span) == HG_SUCCESS);
    harness_sync(h);
    arena_check(h, sides, &sides->mine, span, "put");
    harness_sync(h);
}

/* One byte too many, for the exposed list only. */
static void beyond_is_refused(struct harness *h, struct sides *sides)
{
    static const struct span tries[] = {
        {0, 1, TOTAL}, {5, TOTAL - 1, 2}, {5, TOTAL - 9000, 9001}};

    memset(sides->mine.arena, GAP_FILL, ARENA);
    memset(sides->local.arena, GAP_FILL, ARENA);
    memset(sides->expected, GAP_FILL, ARENA);
    harness_sync(h);
    for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        CHECK(h, move(h, false, sides, &tries[i]) == HG_OVERFLOW);
        CHECK(h, move(h, true, sides, &tries[i]) == HG_OVERFLOW);
        arena_check(h, sides, &sides->local, &tries[i], "get, refused,");
    }
    harness_sync(h);
    arena_check(h, sides, &sides->mine, &tries[0], "put, refused,");
    harness_sync(h);
}

static void case_run(
    struct harness *h, const struct shape *local, const struct shape *exposed)
{
    struct sides sides = {.names = {local->name, exposed->name}};
    struct amg_mem *mem = NULL;

    layout_make(h, local, &sides.local);
    layout_make(h, exposed, &sides.mine);
    sides.right = calloc(SEGMENTS_MAX, sizeof(struct amg_segment));
    sides.expected = malloc(ARENA);
    CHECK(h, sides.right != NULL && sides.expected != NULL);
    harness_expose_list(h, sides.mine.segments, sides.mine.count, &mem,
        &sides.key, sides.right);
    for (unsigned i = 0; i < SPANS; i++) {
        h->is_uncancellable = i % 2 == 0;
        span_get(h, &sides, &spans[i]);
        span_put(h, &sides, &spans[i]);
    }
    beyond_is_refused(h, &sides);
    harness_hide(h, mem);
    free(sides.expected);
    free(sides.right);
    layout_free(&sides.mine);
    layout_free(&sides.local);
}

static void test(struct harness *h)
{
    for (unsigned i = 0; i < SHAPES; i++)
        for (unsigned k = 0; k < SHAPES; k++)
            case_run(h, &shapes[i], &shapes[k]);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
