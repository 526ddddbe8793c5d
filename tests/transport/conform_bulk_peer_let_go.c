/* SPDX-License-Identifier: BSD-3-Clause */
/* No access ends before a poll, and the caller's reference to the peer may be
 * dropped as soon as an access is posted. */
#include <stdlib.h>

#include "harness_bulk.h"

enum { SHORT = 64, LONG = 1 << 20, LEN = SHORT + LONG, ROUNDS = 4 };

/* Gets both parts; only the accesses reference the peer meanwhile. */
static void round_of(struct harness *h, const struct harness_shown *right,
    uint8_t *got, uint64_t seed)
{
    struct harness_call calls[2];
    char text[HARNESS_TEXT_CAP];
    size_t len = sizeof(text);

    CHECK(h, h->t->addr.format(h->domain, h->right, text, &len) == HG_SUCCESS);
    CHECK(h, harness_get(h, right, 0, 0, got, SHORT, &calls[0]) == HG_SUCCESS);
    CHECK(h, harness_get(h, right, 0, SHORT, got + SHORT, LONG, &calls[1]) ==
                 HG_SUCCESS);
    h->t->addr.unref(h->domain, h->right);
    h->right = NULL;
    CHECK(h, calls[0].done == 0 && calls[1].done == 0);
    harness_wait_all(h, calls, 2);
    CHECK(h, calls[0].op.ret == HG_SUCCESS && calls[0].op.len == SHORT);
    CHECK(h, calls[1].op.ret == HG_SUCCESS && calls[1].op.len == LONG);
    CHECK(h, harness_is_filled(got, LEN, seed));
    CHECK(h, h->t->addr.parse(h->domain, text, &h->right) == HG_SUCCESS);
}

static void test(struct harness *h)
{
    uint8_t *mine = malloc(LEN);
    uint8_t *got = malloc(LEN);
    struct amg_segment segment = {mine, LEN};
    struct harness_shown right;
    struct amg_mem *mem = NULL;

    CHECK(h, mine != NULL && got != NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        harness_fill(mine, LEN, i);
        harness_fill(got, LEN, ROUNDS);
        harness_expose(h, &segment, 1, AMG_MEM_READ, &mem, &right);
        round_of(h, &right, got, i);
        harness_sync(h);
        harness_hide(h, mem);
    }
    free(got);
    free(mine);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
