/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the conformance tests of bulk transfers. */
#ifndef TESTS_TRANSPORT_HARNESS_BULK_H
#define TESTS_TRANSPORT_HARNESS_BULK_H

#include "harness.h"

enum { HARNESS_UNREG_MS = 5000 };

/* Exposed memory as its descriptor gives it to a peer: plain bytes. */
struct harness_shown {
    struct amg_key key;
    uint32_t count;
    uint64_t bases[HARNESS_SEGMENTS_MAX];
    uint64_t lens[HARNESS_SEGMENTS_MAX];
};

/* Exposes `mine`, and receives the descriptor of the right neighbour, which
 * calls this, too. */
void harness_expose(struct harness *h, const struct amg_segment *segments,
    uint32_t count, uint8_t flags, struct amg_mem **ret_mine,
    struct harness_shown *ret_right);
/* Unregisters the memory, however long it takes. */
void harness_hide(struct harness *h, struct amg_mem *mine);

/* One access to memory of the right neighbour; returns the code of the post. */
hg_return_t harness_put(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, const void *local, uint64_t len,
    struct harness_call *call);
hg_return_t harness_get(struct harness *h, const struct harness_shown *right,
    uint32_t segment, uint64_t offset, void *local, uint64_t len,
    struct harness_call *call);

/* Exposes a list of any length, and receives that of the right neighbour, which
 * calls this, too: as many segments, written to `ret_segments`. */
void harness_expose_list(struct harness *h, const struct amg_segment *segments,
    uint32_t count, struct amg_mem **ret_mine, struct amg_key *ret_key,
    struct amg_segment *ret_segments);
/* One access between two lists, which stay the caller's; returns the code of
 * the post. */
hg_return_t harness_move(struct harness *h, bool is_put,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct harness_call *call);

/* Waits for all, each of which completes once. */
void harness_wait_all(
    struct harness *h, const struct harness_call *calls, uint32_t count);

#endif
