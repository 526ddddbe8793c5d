/* SPDX-License-Identifier: BSD-3-Clause */
/* Hundreds of concurrent accesses are not mixed up. */
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

enum { ACCESSES = 200, PIECE = 3000, LARGE_PIECE = 20000 };

/* Gets piece i of the right rank's memory, and puts it at the mirrored offset
 * of its writable memory. */
static void round_of(struct harness *h, size_t piece)
{
    size_t len = ACCESSES * piece;
    uint8_t *to_read = malloc(len);
    uint8_t *to_write = calloc(1, len);
    uint8_t *got = calloc(1, len);
    struct harness_call *gets = calloc(ACCESSES, sizeof(*gets));
    struct harness_call *puts = calloc(ACCESSES, sizeof(*puts));
    struct amg_segment segments[] = {{to_read, len}, {to_write, len}};
    struct harness_shown right;
    struct amg_mem *mine = NULL;

    CHECK(h, to_read != NULL && to_write != NULL && got != NULL);
    CHECK(h, gets != NULL && puts != NULL);
    for (size_t i = 0; i < ACCESSES; i++)
        harness_fill(to_read + i * piece, piece, i);
    harness_expose(h, segments, 2, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (size_t i = 0; i < ACCESSES; i++) {
        size_t mirrored = ACCESSES - 1 - i;

        CHECK(h, harness_get(h, &right, 0, i * piece, got + i * piece, piece,
                     &gets[i]) == HG_SUCCESS);
        CHECK(h, harness_put(h, &right, 1, mirrored * piece,
                     to_read + i * piece, piece, &puts[i]) == HG_SUCCESS);
    }
    harness_wait_all(h, gets, ACCESSES);
    harness_wait_all(h, puts, ACCESSES);
    harness_sync(h);
    for (size_t i = 0; i < ACCESSES; i++) {
        CHECK(h, gets[i].op.ret == HG_SUCCESS && gets[i].op.len == piece);
        CHECK(h, puts[i].op.ret == HG_SUCCESS && puts[i].op.len == piece);
        CHECK(h, harness_is_filled(got + i * piece, piece, i));
        CHECK(h,
            harness_is_filled(to_write + (ACCESSES - 1 - i) * piece, piece, i));
    }
    harness_hide(h, mine);
    free(puts);
    free(gets);
    free(got);
    free(to_write);
    free(to_read);
}

static void test(struct harness *h)
{
    round_of(h, PIECE);
    round_of(h, LARGE_PIECE);
    h->is_uncancellable = true;
    round_of(h, LARGE_PIECE);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
