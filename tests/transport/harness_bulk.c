/* SPDX-License-Identifier: BSD-3-Clause */
/* What the conformance tests of bulk transfers share. */
#include "harness_bulk.h"

#include <string.h>

void harness_expose(struct harness *h, const struct amg_segment *segments,
    uint32_t count, uint8_t flags, struct amg_mem **ret_mine,
    struct harness_shown *ret_right)
{
    struct harness_shown mine;

    CHECK(h, count <= HARNESS_SEGMENTS_MAX);
    CHECK(h, h->t->bulk.reg(h->domain, segments, count, flags, ret_mine) ==
                 HG_SUCCESS);
    memset(&mine, 0, sizeof(mine));
    h->t->bulk.key(*ret_mine, &mine.key);
    CHECK(h, mine.key.len > 0 && mine.key.len <= AMG_KEY_LEN_MAX);
    mine.count = count;
    for (uint32_t i = 0; i < count; i++) {
        mine.bases[i] = (uintptr_t)segments[i].base;
        mine.lens[i] = segments[i].len;
    }
    harness_swap(h, &mine, ret_right, sizeof(mine));
}

void harness_hide(struct harness *h, struct amg_mem *mine)
{
    UNTIL(h, h->t->bulk.unreg(h->domain, mine, HARNESS_UNREG_MS) == HG_SUCCESS);
}

static struct amg_remote remote_of(
    const struct harness_shown *right, uint32_t segment, uint64_t offset)
{
    struct amg_remote remote = {
        .key = right->key,
        .segment = segment,
        .base = segment < right->count ? right->bases[segment] : 0,
        .offset = offset,
    };

    return remote;
}

hg_return_t harness_put(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, const void *local, uint64_t len,
    struct harness_call *call)
{
    struct amg_remote remote = remote_of(right, segment, offset);

    harness_call_init(call);
    return h->t->bulk.put(
        h->eps[0], h->right, 0, local, &remote, len, &call->op);
}

hg_return_t harness_get(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, void *local, uint64_t len,
    struct harness_call *call)
{
    struct amg_remote remote = remote_of(right, segment, offset);

    harness_call_init(call);
    return h->t->bulk.get(
        h->eps[0], h->right, 0, local, &remote, len, &call->op);
}

void harness_wait_all(
    struct harness *h, const struct harness_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].done == 1);
    }
}
