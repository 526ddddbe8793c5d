/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets and puts move the right bytes, in every size, concurrently. */
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

static const size_t sizes[] = {1, 4096, 4097, 65536, 1048576, 5 * 1048576 + 3};

enum {
    SIZES = sizeof(sizes) / sizeof(sizes[0]),
    SEGMENTS = 17,
    READ_SEED = 100,
    WRITE_SEED = 200,
    SHIFT = 5, /* offset and tail left out by a partial access */
};

/* The seed of the bytes that rank `rank` exposes, or puts to its right. */
static uint64_t seed_of(uint32_t rank, uint64_t kind, uint64_t i)
{
    return rank * 1000ull + kind + i;
}

static uint32_t right_rank(const struct harness *h)
{
    return (h->rank + 1) % h->size;
}

static uint32_t left_rank(const struct harness *h)
{
    return (h->rank + h->size - 1) % h->size;
}

static void *bytes_make(struct harness *h, size_t len)
{
    void *bytes = malloc(len == 0 ? 1 : len);

    CHECK(h, bytes != NULL);
    memset(bytes, 0, len);
    return bytes;
}

/* Every size in both directions, all in flight at once. */
static void sizes_pass(struct harness *h)
{
    struct amg_segment exposed[2 * SIZES];
    struct harness_shown right;
    struct amg_mem *mine = NULL;
    struct harness_call calls[2 * SIZES];
    uint8_t *got[SIZES];
    uint8_t *given[SIZES];

    for (uint32_t i = 0; i < SIZES; i++) {
        exposed[2 * i] =
            (struct amg_segment){bytes_make(h, sizes[i]), sizes[i]};
        exposed[2 * i + 1] =
            (struct amg_segment){bytes_make(h, sizes[i]), sizes[i]};
        got[i] = bytes_make(h, sizes[i]);
        given[i] = bytes_make(h, sizes[i]);
        harness_fill(
            exposed[2 * i].base, sizes[i], seed_of(h->rank, READ_SEED, i));
        harness_fill(given[i], sizes[i], seed_of(h->rank, WRITE_SEED, i));
    }
    harness_expose(
        h, exposed, 2 * SIZES, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (uint32_t i = 0; i < SIZES; i++) {
        CHECK(h, harness_get(h, &right, 2 * i, 0, got[i], sizes[i],
                     &calls[2 * i]) == HG_SUCCESS);
        CHECK(h, harness_put(h, &right, 2 * i + 1, 0, given[i], sizes[i],
                     &calls[2 * i + 1]) == HG_SUCCESS);
    }
    for (uint32_t i = 0; i < 2 * SIZES; i++)
        CHECK(h, calls[i].done == 0);
    harness_wait_all(h, calls, 2 * SIZES);
    for (uint32_t i = 0; i < 2 * SIZES; i++)
        CHECK(h,
            calls[i].op.ret == HG_SUCCESS && calls[i].op.len == sizes[i / 2]);
    harness_sync(h);
    for (uint32_t i = 0; i < SIZES; i++) {
        CHECK(h, harness_is_filled(
                     got[i], sizes[i], seed_of(right_rank(h), READ_SEED, i)));
        CHECK(h, harness_is_filled(exposed[2 * i + 1].base, sizes[i],
                     seed_of(left_rank(h), WRITE_SEED, i)));
    }
    harness_hide(h, mine);
    for (uint32_t i = 0; i < SIZES; i++) {
        free(exposed[2 * i].base);
        free(exposed[2 * i + 1].base);
        free(got[i]);
        free(given[i]);
    }
}

static size_t segment_len(uint32_t i)
{
    return i % 4 == 0 ? 0 : 1000 * i + i;
}

/* The inner part of every segment is put, read back, and compared. */
static void segment_round(
    struct harness *h, const struct harness_shown *right, uint32_t i)
{
    size_t len = segment_len(i) - 2 * SHIFT;
    uint8_t *given = bytes_make(h, len);
    uint8_t *got = bytes_make(h, len);
    struct harness_call call;

    harness_fill(given, len, seed_of(h->rank, WRITE_SEED, i));
    CHECK(h, harness_put(h, right, i, SHIFT, given, len, &call) == HG_SUCCESS);
    harness_wait_all(h, &call, 1);
    CHECK(h, call.op.ret == HG_SUCCESS);
    /* It was written when the put completed, so a get reads it. */
    CHECK(h, harness_get(h, right, i, SHIFT, got, len, &call) == HG_SUCCESS);
    harness_wait_all(h, &call, 1);
    CHECK(h, call.op.ret == HG_SUCCESS && call.op.len == len);
    CHECK(h, memcmp(given, got, len) == 0);
    free(given);
    free(got);
}

static void segments_pass(struct harness *h)
{
    static const uint8_t zeros[SHIFT];
    struct amg_segment exposed[SEGMENTS];
    struct harness_shown right;
    struct amg_mem *mine = NULL;

    for (uint32_t i = 0; i < SEGMENTS; i++) {
        size_t len = segment_len(i);

        exposed[i].base = len == 0 ? NULL : bytes_make(h, len);
        exposed[i].len = len;
    }
    harness_expose(
        h, exposed, SEGMENTS, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (uint32_t i = 0; i < SEGMENTS; i++)
        if (segment_len(i) > 0)
            segment_round(h, &right, i);
    harness_sync(h);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        size_t len = segment_len(i);
        const uint8_t *bytes = exposed[i].base;

        if (len == 0)
            continue;
        CHECK(h, harness_is_filled(bytes + SHIFT, len - 2 * SHIFT,
                     seed_of(left_rank(h), WRITE_SEED, i)));
        CHECK(h, memcmp(bytes, zeros, SHIFT) == 0);
        CHECK(h, memcmp(bytes + len - SHIFT, zeros, SHIFT) == 0);
    }
    harness_hide(h, mine);
    for (uint32_t i = 0; i < SEGMENTS; i++)
        free(exposed[i].base);
}

static void test(struct harness *h)
{
    sizes_pass(h);
    segments_pass(h);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
