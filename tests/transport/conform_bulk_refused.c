/* SPDX-License-Identifier: BSD-3-Clause */
/* An access that is not allowed ends with its code, and writes nothing. */
#include <stdio.h>
#include <string.h>

#include "harness_bulk.h"

enum { SMALL = 512, LARGE = 300000, SEED = 9, LOCAL_SEED = 11 };

/* Exposed memory: read-only and write-only, small and large each, since a
 * driver may move them in different ways. */
static uint8_t to_read[LARGE];
static uint8_t to_write[LARGE];
static uint8_t local[2 * LARGE];

struct access {
    const struct harness_shown *right;
    uint32_t segment;
    uint64_t offset;
    uint64_t len;
    hg_return_t expected;
};

/* Tries it in one direction; checks that `local` is unchanged. */
static void is_refused(
    struct harness *h, bool is_put, const struct access *access)
{
    struct harness_call call;
    hg_return_t rc = is_put ? harness_put(h, access->right, access->segment,
                                  access->offset, local, access->len, &call)
                            : harness_get(h, access->right, access->segment,
                                  access->offset, local, access->len, &call);

    CHECK(h, rc == HG_SUCCESS);
    harness_wait_all(h, &call, 1);
    if (call.op.ret != access->expected)
        fprintf(stderr,
            "%s, segment %u, offset %llu, len %llu: code %d, not %d\n",
            is_put ? "put" : "get", access->segment,
            (unsigned long long)access->offset, (unsigned long long)access->len,
            (int)call.op.ret, (int)access->expected);
    CHECK(h, call.op.ret == access->expected);
    CHECK(h, harness_is_filled(local, sizeof(local), LOCAL_SEED));
}

static void bounds_hold(
    struct harness *h, bool is_put, const struct harness_shown *right)
{
    const struct access tries[] = {
        {right, 1, SMALL, 1, HG_OVERFLOW},
        {right, 1, SMALL + 1, 1, HG_OVERFLOW},
        {right, 1, 0, SMALL + 1, HG_OVERFLOW},
        {right, 1, SMALL - 1, 2, HG_OVERFLOW},
        {right, 1, UINT64_MAX, 2, HG_OVERFLOW},
        {right, 1, UINT64_MAX - 7, 16, HG_OVERFLOW},
        {right, 1, UINT64_MAX - SMALL, SMALL + 1, HG_OVERFLOW},
        {right, 0, LARGE, LARGE, HG_OVERFLOW},
        {right, 0, LARGE + 1, 1, HG_OVERFLOW},
        {right, 0, 1, LARGE + SMALL, HG_OVERFLOW},
        {right, 0, LARGE - 1, SMALL + 2, HG_OVERFLOW},
        {right, 0, UINT64_MAX - LARGE + 2, LARGE, HG_OVERFLOW},
        /* Later fragments would wrap around to small offsets. */
        {right, 0, UINT64_MAX - SMALL, LARGE, HG_OVERFLOW},
        {right, 2, 0, 1, HG_OVERFLOW},
        {right, UINT32_MAX, 0, 1, HG_OVERFLOW},
    };

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
        is_refused(h, is_put, &tries[i]);
}

static void permission_holds(
    struct harness *h, bool is_put, const struct harness_shown *right)
{
    is_refused(h, is_put, &(struct access){right, 1, 0, SMALL, HG_PERMISSION});
    is_refused(h, is_put, &(struct access){right, 0, 0, LARGE, HG_PERMISSION});
}

/* Invalid keys: every byte wrong in turn, and one of the wrong length. */
static void keys_hold(
    struct harness *h, const struct harness_shown *right, bool is_put)
{
    struct harness_call call;
    struct harness_shown wrong = *right;

    for (uint8_t i = 0; i < right->key.len; i++) {
        wrong = *right;
        wrong.key.bytes[i] ^= 0x80;
        is_refused(
            h, is_put, &(struct access){&wrong, 1, 0, SMALL, HG_NOENTRY});
        is_refused(
            h, is_put, &(struct access){&wrong, 0, 0, LARGE, HG_NOENTRY});
    }
    wrong = *right;
    wrong.key.len = 1;
    CHECK(h, harness_put(h, &wrong, 0, 0, local, 1, &call) == HG_INVALID_ARG);
    CHECK(h, harness_get(h, &wrong, 0, 0, local, 1, &call) == HG_INVALID_ARG);
}

static void test(struct harness *h)
{
    const struct amg_segment read_list[] = {{to_read, LARGE}, {to_read, SMALL}};
    const struct amg_segment write_list[] = {
        {to_write, LARGE}, {to_write, SMALL}};
    struct harness_shown right_read;
    struct harness_shown right_write;
    struct amg_mem *mine_read = NULL;
    struct amg_mem *mine_write = NULL;

    harness_fill(to_read, sizeof(to_read), SEED);
    harness_fill(to_write, sizeof(to_write), SEED);
    harness_fill(local, sizeof(local), LOCAL_SEED);
    harness_expose(h, read_list, 2, AMG_MEM_READ, &mine_read, &right_read);
    harness_expose(h, write_list, 2, AMG_MEM_WRITE, &mine_write, &right_write);
    for (unsigned i = 0; i < 2; i++) {
        h->is_uncancellable = i == 1;
        bounds_hold(h, false, &right_read);
        bounds_hold(h, true, &right_write);
        permission_holds(h, true, &right_read);
        permission_holds(h, false, &right_write);
        keys_hold(h, &right_read, false);
        keys_hold(h, &right_write, true);
    }
    harness_sync(h);
    harness_hide(h, mine_read);
    harness_hide(h, mine_write);
    harness_sync(h);
    is_refused(
        h, false, &(struct access){&right_read, 1, 0, SMALL, HG_NOENTRY});
    is_refused(
        h, false, &(struct access){&right_read, 0, 0, LARGE, HG_NOENTRY});
    is_refused(
        h, true, &(struct access){&right_write, 1, 0, SMALL, HG_NOENTRY});
    is_refused(
        h, true, &(struct access){&right_write, 0, 0, LARGE, HG_NOENTRY});
    /* The new memory at this address has another key. */
    harness_expose(h, write_list, 2, AMG_MEM_WRITE, &mine_write, &right_read);
    is_refused(
        h, true, &(struct access){&right_write, 1, 0, SMALL, HG_NOENTRY});
    harness_sync(h);
    harness_hide(h, mine_write);
    CHECK(h, harness_is_filled(to_read, sizeof(to_read), SEED));
    CHECK(h, harness_is_filled(to_write, sizeof(to_write), SEED));
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
