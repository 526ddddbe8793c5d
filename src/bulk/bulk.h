/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handles, for memory that this process or another process exposes. */
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

/* Writes the `count` segments of amg_bulk_make_exposed(). */
typedef void (*amg_bulk_fill_fn)(void *arg, struct amg_segment *ret_segments);

/* Freed with the last reference; transfers in flight hold references. Constant
 * once created, except the registration, `is_internal` and the binding. */
struct hg_bulk {
    struct amg_link kept; /* in the attic (base/pool.h), once destroyed */
    hg_class_t *cls;
    atomic_int refs;      /* 0: destroyed */
    uint8_t flags;        /* HG_BULK_READ_ONLY, ...: what peers may do */
    bool is_local;        /* created by this process, not received */
    bool is_internal;     /* not counted as a handle of the program */
    void *owned;          /* memory of the segments, freed with the handle */
    void *eager;          /* copy of all bytes, received with the descriptor */
    struct amg_lock lock; /* guards the registration of a local handle */
    bool is_registered;
    struct amg_mem *mems[AMG_ROUTE_COUNT];
    struct amg_key keys[AMG_ROUTE_COUNT]; /* len 0: no key for the route */
    struct hg_addr bound;                 /* peer NULL: not bound */
    uint8_t bound_context;
    uint64_t len; /* of all segments */
    /* The offsets at which every AMG_BULK_STARTS_STEP-th segment begins; NULL:
     * the list of segments is short. */
    const uint64_t *starts;
    uint32_t count;
    struct amg_segment *segments; /* `near`, or separate memory */
    struct amg_segment near[AMG_BULK_NEAR];
};

/* Checks a handle passed in by the program. */
#define AMG_BULK_OK(bulk)                                                      \
    AMG_OURS((bulk) != HG_BULK_NULL && amg_refs_get(&(bulk)->refs) > 0 &&      \
                 !amg_class_is_inherited((bulk)->cls),                         \
        amg_refs_get(&(bulk)->refs) > 0, "bulk handle", (bulk))

/* Creates a handle of the program for `count` (> 0) segments; `fill` writes
 * them during the call. The sizes add up to less than 2^64. HG_NOMEM. */
hg_return_t amg_bulk_make_exposed(hg_class_t *cls, uint32_t count,
    uint8_t flags, amg_bulk_fill_fn fill, void *arg, struct hg_bulk **ret_bulk);

/* Creates an internal handle for `len` bytes at `data`. The handle owns `data`,
 * which is memory of amg_mem or of the class's pool, and frees `data`. After an
 * error `data` stays the caller's. */
hg_return_t amg_bulk_make_owning(hg_class_t *cls, void *data, uint64_t len,
    uint8_t flags, struct hg_bulk **ret_bulk);

void amg_bulk_ref(struct hg_bulk *bulk);
/* Drops a reference; the last drop ends the exposure. HG_BUSY: an access of a
 * peer did not end in time; the reference stays. */
hg_return_t amg_bulk_unref(struct hg_bulk *bulk);

/* Drops a reference when the caller cannot retry. If a peer's access does not
 * end in time, handle and memory are never freed, and are no longer counted. */
void amg_bulk_leave(struct hg_bulk *bulk);

/* Registers a local handle, once: creates a key for each route with peers. */
hg_return_t amg_bulk_register(struct hg_bulk *bulk);

/* Does a received handle describe memory of this process, which this process
 * still exposes? */
bool amg_bulk_came_back(const struct hg_bulk *bulk);
/* Are the segments of the handle memory of this process? */
static inline bool amg_bulk_is_here(const struct hg_bulk *bulk)
{
    return AMG_LIKELY(bulk->is_local) || amg_bulk_came_back(bulk);
}

/* Returns the segment of byte `offset`, and the offset in that segment. An
 * `offset` at the end gives the end of the last segment. */
uint32_t amg_bulk_find(
    const struct hg_bulk *bulk, uint64_t offset, uint64_t *ret_into);

/* Descriptors. With AMG_BULK_PACK_EAGER in `flags`, the data are included. */

enum { AMG_BULK_PACK_EAGER = 1 };

/* Bytes that amg_bulk_pack() writes; the handle must be registered. */
uint64_t amg_bulk_packed_len(const struct hg_bulk *bulk, unsigned flags);
void amg_bulk_pack(const struct hg_bulk *bulk, unsigned flags, void *ret_bytes);
/* Creates a handle from a descriptor of at most `len` bytes. HG_PROTOCOL_ERROR:
 * not a descriptor; HG_OVERFLOW: the descriptor ends too early; HG_NOMEM. */
hg_return_t amg_bulk_unpack(hg_class_t *cls, const void *bytes, uint64_t len,
    bool is_internal, struct hg_bulk **ret_bulk);

#endif
