/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the conformance tests of bulk transfers. */
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

static struct amg_remote remote_of(struct harness_call *call,
    const struct harness_shown *right, uint32_t segment, uint64_t offset)
{
    struct amg_remote remote = {.key = right->key};

    for (uint32_t i = 0; i < right->count; i++)
        call->theirs[i] = (struct amg_segment){
            (void *)(uintptr_t)right->bases[i], right->lens[i]};
    remote.at =
        (struct amg_seg_iter){call->theirs, right->count, segment, offset};
    return remote;
}

/* An iterator over a list of one segment, which the call keeps. */
static struct amg_seg_iter local_of(
    struct harness_call *call, const void *local, uint64_t len)
{
    call->local = (struct amg_segment){(void *)local, len};
    return (struct amg_seg_iter){&call->local, 1, 0, 0};
}

/* Initialises the parts common to both directions. */
static void access_init(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, const void *local, uint64_t len,
    struct harness_call *call, struct amg_seg_iter *ret_local,
    struct amg_remote *ret_remote)
{
    harness_call_init(call);
    call->op.is_uncancellable = h->is_uncancellable;
    *ret_remote = remote_of(call, right, segment, offset);
    *ret_local = local_of(call, local, len);
}

hg_return_t harness_put(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, const void *local, uint64_t len,
    struct harness_call *call)
{
    struct amg_remote remote;
    struct amg_seg_iter at;

    access_init(h, right, segment, offset, local, len, call, &at, &remote);
    return h->t->bulk.put(h->eps[0], (struct amg_target){h->right, 0}, &at,
        &remote, len, &call->op);
}

hg_return_t harness_get(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, void *local, uint64_t len,
    struct harness_call *call)
{
    struct amg_remote remote;
    struct amg_seg_iter at;

    access_init(h, right, segment, offset, local, len, call, &at, &remote);
    return h->t->bulk.get(h->eps[0], (struct amg_target){h->right, 0}, &at,
        &remote, len, &call->op);
}

void harness_expose_list(struct harness *h, const struct amg_segment *segments,
    uint32_t count, struct amg_mem **ret_mine, struct amg_key *ret_key,
    struct amg_segment *ret_segments)
{
    struct amg_key key;

    CHECK(h, h->t->bulk.reg(h->domain, segments, count,
                 AMG_MEM_READ | AMG_MEM_WRITE, ret_mine) == HG_SUCCESS);
    memset(&key, 0, sizeof(key));
    h->t->bulk.key(*ret_mine, &key);
    harness_swap(h, &key, ret_key, sizeof(key));
    harness_swap(h, segments, ret_segments, count * sizeof(*segments));
}

hg_return_t harness_move(struct harness *h, bool is_put,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct harness_call *call)
{
    harness_call_init(call);
    call->op.is_uncancellable = h->is_uncancellable;
    if (is_put)
        return h->t->bulk.put(h->eps[0], (struct amg_target){h->right, 0},
            local, remote, len, &call->op);
    return h->t->bulk.get(h->eps[0], (struct amg_target){h->right, 0}, local,
        remote, len, &call->op);
}

void harness_wait_all(
    struct harness *h, const struct harness_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].done == 1);
    }
}
