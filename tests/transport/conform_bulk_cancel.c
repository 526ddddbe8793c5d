/* SPDX-License-Identifier: BSD-3-Clause */
/* A cancelled access completes once, and does not touch user memory
 * afterwards. */
#include <stdlib.h>
#include <string.h>

#include "harness_bulk.h"

enum { ROUNDS = 12, ACCESSES = 8, LARGE = 1 << 20, SMALL = 64, SEED = 3 };

/* Starts accesses, polls `polls` times, and cancels them all. Local memory is
 * freed once they completed, so a late write would show. */
static void round_of(struct harness *h, const struct harness_shown *right,
    size_t len, unsigned polls)
{
    struct harness_call calls[2 * ACCESSES];
    uint8_t *locals[2 * ACCESSES];

    for (uint32_t i = 0; i < 2 * ACCESSES; i++) {
        hg_return_t rc = HG_SUCCESS;

        locals[i] = malloc(len);
        CHECK(h, locals[i] != NULL);
        harness_fill(locals[i], len, SEED);
        rc = i % 2 == 0
                 ? harness_get(h, right, 0, 0, locals[i], len, &calls[i])
                 : harness_put(h, right, 1, 0, locals[i], len, &calls[i]);
        CHECK(h, rc == HG_SUCCESS);
    }
    for (unsigned i = 0; i < polls; i++)
        harness_poll(h);
    for (uint32_t i = 0; i < 2 * ACCESSES; i++)
        CHECK(h, h->t->ep.cancel(h->eps[0], &calls[i].op) == HG_SUCCESS);
    harness_wait_all(h, calls, 2 * ACCESSES);
    for (uint32_t i = 0; i < 2 * ACCESSES; i++) {
        CHECK(
            h, calls[i].op.ret == HG_SUCCESS || calls[i].op.ret == HG_CANCELED);
        if (calls[i].op.ret == HG_SUCCESS)
            CHECK(h, harness_is_filled(locals[i], len, SEED));
        memset(locals[i], 0xee, len);
        free(locals[i]);
    }
}

static void test(struct harness *h)
{
    uint8_t *to_read = malloc(LARGE);
    uint8_t *to_write = malloc(LARGE);
    uint8_t *got = malloc(LARGE);
    struct amg_segment segments[] = {{to_read, LARGE}, {to_write, LARGE}};
    struct harness_shown right;
    struct harness_call call;
    struct amg_mem *mine = NULL;

    CHECK(h, to_read != NULL && to_write != NULL && got != NULL);
    harness_fill(to_read, LARGE, SEED);
    harness_expose(h, segments, 2, AMG_MEM_READ | AMG_MEM_WRITE, &mine, &right);
    for (unsigned i = 0; i < ROUNDS; i++) {
        round_of(h, &right, i % 3 == 2 ? SMALL : LARGE, i * i);
        /* Cancelled accesses do not disturb later ones. */
        memset(got, 0, LARGE);
        CHECK(h, harness_get(h, &right, 0, 0, got, LARGE, &call) == HG_SUCCESS);
        harness_wait_all(h, &call, 1);
        CHECK(h, call.op.ret == HG_SUCCESS && call.op.len == LARGE);
        CHECK(h, harness_is_filled(got, LARGE, SEED));
    }
    harness_sync(h);
    harness_hide(h, mine);
    free(got);
    free(to_write);
    free(to_read);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
