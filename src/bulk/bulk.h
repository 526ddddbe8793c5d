/* SPDX-License-Identifier: BSD-3-Clause */
/* A bulk handle: memory exposed here, or the description of memory elsewhere.
 */
#ifndef AMG_BULK_BULK_H
#define AMG_BULK_BULK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/refcount.h"
#include "core/addr.h"
#include "core/class.h"
#include "mercury_bulk.h"

enum { AMG_BULK_STARTS_STEP = 64, AMG_BULK_NEAR = 4 };

/* Writes as many segments as were asked for. */
typedef void (*amg_bulk_fill_fn)(void *arg, struct amg_segment *ret_segments);

/* Owned by those who hold a reference; transfers in flight do. Constant once
 * made, but for the fields that name a guard. */
struct hg_bulk {
    struct amg_link kept; /* the attic's, once it is gone */
    hg_class_t *cls;
    atomic_int refs;  /* 0: it is gone */
    uint8_t flags;    /* HG_BULK_READ_ONLY, ...: what the others may do */
    bool is_local;    /* the segments are addresses of this process */
    bool is_internal; /* not counted as the user's */
    void *owned;      /* memory the library allocated for the segments */
    void *eager;      /* copy of all its bytes that came with the descriptor */
    struct amg_lock lock; /* guards the registration of a local handle */
    bool is_registered;
    struct amg_mem *mems[AMG_ROUTE_COUNT];
    struct amg_key keys[AMG_ROUTE_COUNT]; /* len 0: none for this route */
    struct hg_addr bound;                 /* peer NULL: not bound */
    uint8_t bound_context;
    uint64_t len; /* of all segments */
    /* The offset at which every AMG_BULK_STARTS_STEP-th segment begins; NULL:
     * the segments are too few for that to pay. */
    const uint64_t *starts;
    uint32_t count;
    struct amg_segment *segments; /* `near`, or memory of its own */
    struct amg_segment near[AMG_BULK_NEAR];
};

/* Is it one that is there? By the functions that programs call. */
#define AMG_BULK_OK(bulk)                                                      \
    AMG_ALIVE((bulk) != HG_BULK_NULL && amg_refs_get(&(bulk)->refs) > 0,       \
        "bulk handle", (bulk))

/* An empty handle for `count` segments, which are not set, with one reference.
 * HG_NOMEM. */
hg_return_t amg_bulk_make(
    hg_class_t *cls, uint32_t count, struct hg_bulk **ret_bulk);

/* Exposes `count` (> 0) segments that `fill` writes at once, as the user's own
 * handle; their sizes add up to fewer than 2^64 bytes. HG_NOMEM. */
hg_return_t amg_bulk_make_exposed(hg_class_t *cls, uint32_t count,
    uint8_t flags, amg_bulk_fill_fn fill, void *arg, struct hg_bulk **ret_bulk);

/* To be called once when all segments are set, by who made an empty handle:
 * amg_bulk_find() is fast afterwards. Returns the bytes of all. */
uint64_t amg_bulk_sealed(struct hg_bulk *bulk);

/* Exposes `len` bytes at `data`, not counted as the user's; takes `data` (of
 * amg_mem) and frees it with the handle. On an error `data` stays the
 * caller's. */
hg_return_t amg_bulk_make_owning(hg_class_t *cls, void *data, uint64_t len,
    uint8_t flags, struct hg_bulk **ret_bulk);

void amg_bulk_hold(struct hg_bulk *bulk);
/* Drops a reference; the last one ends the exposure. HG_BUSY: a peer with an
 * access in motion did not answer; the reference stays. */
hg_return_t amg_bulk_drop(struct hg_bulk *bulk);

/* Drops a reference that nobody can try again to drop. When a peer does not
 * answer, handle and memory are left to it, and not counted any more. */
void amg_bulk_leave(struct hg_bulk *bulk);

/* Makes the keys of a local handle, once, for every open route. */
hg_return_t amg_bulk_register(struct hg_bulk *bulk);

/* The segment that holds byte `offset`, and how far into it that is. Offsets
 * at the end give the last segment's end. */
uint32_t amg_bulk_find(
    const struct hg_bulk *bulk, uint64_t offset, uint64_t *ret_into);

/* A copy of all bytes of a local handle. */
void amg_bulk_copy_out(const struct hg_bulk *bulk, void *ret_bytes);

/* bulk_pack.c: a handle as bytes. */

enum { AMG_BULK_PACK_EAGER = 1 };

/* Bytes that pack needs; the handle is registered. */
uint64_t amg_bulk_packed_len(const struct hg_bulk *bulk, unsigned flags);
/* Writes them; `cap` suffices. */
void amg_bulk_pack(const struct hg_bulk *bulk, unsigned flags, void *ret_bytes);
/* HG_PROTOCOL_ERROR: not a descriptor; HG_OVERFLOW: it ends too early;
 * HG_NOMEM. Reads nothing behind `len`. */
hg_return_t amg_bulk_unpack(hg_class_t *cls, const void *bytes, uint64_t len,
    bool is_internal, struct hg_bulk **ret_bulk);

#endif
