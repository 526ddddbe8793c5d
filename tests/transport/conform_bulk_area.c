/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets and puts access memory of the domain's area like any other, up to its
 * last byte, together with other memory. */
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

enum {
    AREA_LEN = 8 << 20,
    LEN = 3 * 1048576 + 5,
    PARTS = 4,
    READ_SEED = 21,
    WRITE_SEED = 22,
};

/* The bytes of rank `rank`, part `i`. */
static uint64_t seed_of(uint32_t rank, uint64_t kind, uint32_t i)
{
    return rank * 1000ull + kind * 10 + i;
}

static void parts_pass(struct harness *h, const struct amg_segment *parts,
    const struct harness_shown *right, uint8_t *local)
{
    struct harness_call calls[2 * PARTS];
    uint32_t right_rank = (h->rank + 1) % h->size;
    uint32_t left_rank = (h->rank + h->size - 1) % h->size;

    for (uint32_t i = 0; i < PARTS; i++) {
        uint8_t *got = local + (size_t)i * LEN;

        memset(got, 0, parts[i].len);
        CHECK(h, harness_get(h, right, i, 0, got, parts[i].len, &calls[i]) ==
                     HG_SUCCESS);
    }
    harness_wait_all(h, calls, PARTS);
    for (uint32_t i = 0; i < PARTS; i++) {
        uint8_t *got = local + (size_t)i * LEN;

        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        CHECK(h, harness_is_filled(
                     got, parts[i].len, seed_of(right_rank, READ_SEED, i)));
        harness_fill(got, parts[i].len, seed_of(h->rank, WRITE_SEED, i));
    }
    harness_sync(h); /* no rank gets any more, so puts may begin */
    for (uint32_t i = 0; i < PARTS; i++)
        CHECK(h, harness_put(h, right, i, 0, local + (size_t)i * LEN,
                     parts[i].len, &calls[i]) == HG_SUCCESS);
    harness_wait_all(h, calls, PARTS);
    harness_sync(h);
    for (uint32_t i = 0; i < PARTS; i++) {
        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        CHECK(h, harness_is_filled(parts[i].base, parts[i].len,
                     seed_of(left_rank, WRITE_SEED, i)));
    }
}

static void test(struct harness *h)
{
    uint8_t *area = h->area.base;
    uint8_t *heap = malloc(LEN);
    uint8_t *local = malloc((size_t)PARTS * LEN);
    const struct amg_segment parts[PARTS] = {
        {area, LEN},
        {heap, LEN},
        {area + LEN, 1},
        {area + AREA_LEN - 100000, 100000},
    };
    struct harness_shown right;
    struct amg_mem *mine = NULL;

    CHECK(h, heap != NULL && local != NULL);
    for (uint32_t i = 0; i < PARTS; i++)
        harness_fill(
            parts[i].base, parts[i].len, seed_of(h->rank, READ_SEED, i));
    harness_expose(
        h, parts, PARTS, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    parts_pass(h, parts, &right, local);
    harness_hide(h, mine);
    free(local);
    free(heap);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.area_len = AREA_LEN}, test);
}
