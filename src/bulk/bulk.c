/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handles: each stands for memory that this process exposes, or describes
 * memory of another process. The descriptor of a handle is the handle as bytes.
 *
 * A local handle is registered with the drivers only when its keys are needed,
 * because the target of an RPC sends few of its handles to other processes. The
 * drop of the last reference ends the exposure; after that the program may
 * unmap the segments. */
#include "bulk/bulk.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "mercury_class.h"
#include "transport/self.h"

static struct amg_attic attic; /* of bulk handles */

#define BULK_FLAGS (HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY)

/* Number of entries of `starts`; 0: the list is short enough to search. */
static size_t starts_count(uint32_t count)
{
    return count <= AMG_BULK_STARTS_STEP
               ? 0
               : (count - 1) / AMG_BULK_STARTS_STEP + 1;
}

/* Creates a handle for `count` segments, which are not set, with one reference.
 * HG_NOMEM. */
static hg_return_t bulk_make(hg_class_t *cls, uint32_t count, bool is_internal,
    struct hg_bulk **ret_bulk)
{
    struct amg_segment *segments = NULL;
    struct hg_bulk *bulk = NULL;

    if (count > AMG_BULK_NEAR) {
        segments = amg_mem_alloc(count * sizeof(struct amg_segment) +
                                 starts_count(count) * sizeof(uint64_t));
        if (segments == NULL)
            return HG_NOMEM;
    }
    bulk = amg_attic_get(&attic, _Alignof(struct hg_bulk), sizeof(*bulk));
    if (bulk == NULL) {
        amg_mem_free(segments);
        return HG_NOMEM;
    }
    /* The caller sets `near`. */
    memset(bulk, 0, offsetof(struct hg_bulk, near));
    bulk->cls = cls;
    bulk->count = count;
    bulk->segments = segments == NULL ? bulk->near : segments;
    amg_refs_set(&bulk->refs, 1);
    amg_lock_init(&bulk->lock);
    bulk->is_internal = is_internal;
    if (!is_internal)
        amg_class_count(cls, AMG_CLASS_BULKS, 1);
    *ret_bulk = bulk;
    return HG_SUCCESS;
}

static void bulk_destroy(struct hg_bulk *bulk)
{
    if (!bulk->is_internal)
        amg_class_count(bulk->cls, AMG_CLASS_BULKS, -1);
    amg_addr_fini(&bulk->bound);
    amg_class_pool_free(bulk->cls->pool, bulk->owned);
    amg_mem_free(bulk->eager);
    if (bulk->segments != bulk->near)
        amg_mem_free(bulk->segments);
    amg_refs_set(&bulk->refs, 0);
    amg_attic_put(&attic, bulk);
}

void amg_bulk_ref(struct hg_bulk *bulk)
{
    amg_refs_ref(&bulk->refs);
}

static hg_return_t bulk_unregister(struct hg_bulk *bulk)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_FREE_TIMEOUT);

    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        struct amg_mem *mem = bulk->mems[route];
        hg_return_t rc = HG_SUCCESS;

        if (mem == NULL)
            continue;
        rc = mem->transport->bulk.unreg(
            bulk->cls->domains[route], mem, timeout_ms);
        if (rc != HG_SUCCESS)
            return rc;
        bulk->mems[route] = NULL;
        bulk->keys[route].len = 0;
    }
    return HG_SUCCESS;
}

hg_return_t amg_bulk_unref(struct hg_bulk *bulk)
{
    hg_return_t rc = HG_SUCCESS;

    if (!amg_refs_unref(&bulk->refs, 1, NULL))
        return HG_SUCCESS;
    rc = bulk_unregister(bulk);
    if (rc != HG_SUCCESS) {
        atomic_store_explicit(&bulk->refs, 1, memory_order_release);
        return rc;
    }
    bulk_destroy(bulk);
    return HG_SUCCESS;
}

void amg_bulk_leave(struct hg_bulk *bulk)
{
    if (amg_bulk_unref(bulk) == HG_SUCCESS || bulk->is_internal)
        return;
    bulk->is_internal = true;
    amg_class_count(bulk->cls, AMG_CLASS_BULKS, -1);
}

hg_return_t amg_bulk_register(struct hg_bulk *bulk)
{
    hg_return_t rc = HG_SUCCESS;

    if (!bulk->is_local)
        return HG_SUCCESS;
    /* NOTE(not a leaf): the drivers take their own locks under this lock; a
     * driver never uses a bulk handle, so the order of the locks is fixed. */
    amg_lock_lock(&bulk->lock);
    for (unsigned route = 0; route < AMG_ROUTE_COUNT && !bulk->is_registered;
         route++) {
        struct amg_domain *domain = bulk->cls->domains[route];

        /* No peer accesses memory over a route that leads to no peer. */
        if (domain == NULL || bulk->cls->is_idle[route] ||
            bulk->mems[route] != NULL)
            continue;
        rc = domain->transport->bulk.reg(domain, bulk->segments, bulk->count,
            bulk->flags, &bulk->mems[route]);
        if (rc != HG_SUCCESS)
            break;
        domain->transport->bulk.key(bulk->mems[route], &bulk->keys[route]);
    }
    if (rc == HG_SUCCESS)
        bulk->is_registered = true;
    amg_lock_unlock(&bulk->lock);
    return rc;
}

bool amg_bulk_came_back(const struct hg_bulk *bulk)
{
    const struct amg_domain *self = bulk->cls->domains[AMG_ROUTE_SELF];

    return self != NULL && amg_self_mem_is(self, &bulk->keys[AMG_ROUTE_SELF],
                               bulk->segments, bulk->count);
}

/* Called once, after all segments were set: fills in `starts`, which makes
 * amg_bulk_find() fast. Returns the sum of the sizes. */
static uint64_t bulk_sealed(struct hg_bulk *bulk)
{
    uint64_t *starts = (uint64_t *)(void *)(bulk->segments + bulk->count);
    uint64_t offset = 0;

    if (starts_count(bulk->count) > 0)
        bulk->starts = starts;
    for (uint32_t i = 0; i < bulk->count; i++) {
        if (bulk->starts != NULL && i % AMG_BULK_STARTS_STEP == 0)
            starts[i / AMG_BULK_STARTS_STEP] = offset;
        offset += bulk->segments[i].len;
    }
    return offset;
}

/* Returns the last segment in `starts` that begins at or before `*offset`, and
 * makes `*offset` relative to the start of this segment. */
static uint32_t starts_find(const struct hg_bulk *bulk, uint64_t *offset)
{
    size_t low = 0;
    size_t high = starts_count(bulk->count);

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (bulk->starts[middle] <= *offset)
            low = middle;
        else
            high = middle;
    }
    *offset -= bulk->starts[low];
    return (uint32_t)low * AMG_BULK_STARTS_STEP;
}

uint32_t amg_bulk_find(
    const struct hg_bulk *bulk, uint64_t offset, uint64_t *ret_into)
{
    uint32_t i = 0;

    if (bulk->starts != NULL)
        i = starts_find(bulk, &offset);
    while (i + 1 < bulk->count && offset >= bulk->segments[i].len) {
        offset -= bulk->segments[i].len;
        i++;
    }
    *ret_into = offset;
    return i;
}

/* Creates a handle for memory of this process; the caller sets the segments. */
static hg_return_t local_make(hg_class_t *cls, uint32_t count, uint8_t flags,
    bool is_internal, struct hg_bulk **ret_bulk)
{
    hg_return_t rc = bulk_make(cls, count, is_internal, ret_bulk);

    if (rc != HG_SUCCESS)
        return rc;
    (*ret_bulk)->flags = flags;
    (*ret_bulk)->is_local = true;
    return HG_SUCCESS;
}

hg_return_t amg_bulk_make_owning(hg_class_t *cls, void *data, uint64_t len,
    uint8_t flags, struct hg_bulk **ret_bulk)
{
    struct hg_bulk *bulk = NULL;
    hg_return_t rc = local_make(cls, 1, flags, true, &bulk);

    if (rc != HG_SUCCESS)
        return rc;
    bulk->segments[0].base = data;
    bulk->segments[0].len = len;
    bulk->len = len;
    bulk->owned = data;
    *ret_bulk = bulk;
    return HG_SUCCESS;
}

hg_return_t amg_bulk_make_exposed(hg_class_t *cls, uint32_t count,
    uint8_t flags, amg_bulk_fill_fn fill, void *arg, struct hg_bulk **ret_bulk)
{
    struct hg_bulk *bulk = NULL;
    hg_return_t rc = local_make(cls, count, flags, false, &bulk);

    if (rc != HG_SUCCESS)
        return rc;
    fill(arg, bulk->segments);
    bulk->len = bulk_sealed(bulk);
    *ret_bulk = bulk;
    return HG_SUCCESS;
}

/* Sums the sizes. HG_INVALID_ARG: the sum exceeds 64 bits, or a segment of more
 * than 0 bytes has no address. */
static hg_return_t sizes_check(uint32_t count, void *const *buf_ptrs,
    const hg_size_t *buf_sizes, uint64_t *ret_len)
{
    uint64_t len = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (buf_sizes[i] > UINT64_MAX - len) {
            AMG_LOG_ERROR("bulk",
                "segment %u of %u: the sizes add up to 2^64 bytes or more", i,
                count);
            return HG_INVALID_ARG;
        }
        if (buf_ptrs != NULL && buf_ptrs[i] == NULL && buf_sizes[i] > 0) {
            AMG_LOG_ERROR("bulk",
                "segment %u of %u has %llu bytes and no address; give NULL "
                "for the whole list to have memory allocated",
                i, count, (unsigned long long)buf_sizes[i]);
            return HG_INVALID_ARG;
        }
        len += buf_sizes[i];
    }
    *ret_len = len;
    return HG_SUCCESS;
}

/* Sets the segments, in memory of the library if `buf_ptrs` is NULL. */
static hg_return_t segments_set(
    struct hg_bulk *bulk, void *const *buf_ptrs, const hg_size_t *buf_sizes)
{
    char *next = NULL;

    if (buf_ptrs == NULL && bulk->len > 0) {
        bulk->owned = amg_class_pool_alloc(
            bulk->cls->pool, bulk->len, AMG_CLASS_POOL_ZEROS);
        if (bulk->owned == NULL)
            return HG_NOMEM;
        next = bulk->owned;
    }
    for (uint32_t i = 0; i < bulk->count; i++) {
        bulk->segments[i].base = buf_ptrs == NULL ? next : buf_ptrs[i];
        bulk->segments[i].len = buf_sizes[i];
        if (next != NULL)
            next += buf_sizes[i];
    }
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_create(hg_class_t *hg_class, hg_uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, hg_uint8_t flags,
    hg_bulk_t *handle)
{
    struct hg_bulk *bulk = NULL;
    uint64_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) ||
        !AMG_CONTRACT(
            count > 0, "count is 0; a handle has at least 1 segment") ||
        !AMG_GIVEN(buf_sizes) || !AMG_GIVEN(handle))
        return amg_refusal();
    if (!AMG_CONTRACT(flags != 0 && (flags & ~BULK_FLAGS) == 0,
            "flags is 0x%x; it must be HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY "
            "or HG_BULK_READWRITE",
            flags))
        return HG_INVALID_ARG;
    rc = sizes_check(count, buf_ptrs, buf_sizes, &len);
    if (rc != HG_SUCCESS)
        return rc;
    rc = local_make(hg_class, count, flags, false, &bulk);
    if (rc != HG_SUCCESS)
        return rc;
    bulk->len = len;
    rc = segments_set(bulk, buf_ptrs, buf_sizes);
    if (rc != HG_SUCCESS) {
        bulk_destroy(bulk);
        return rc;
    }
    (void)bulk_sealed(bulk);
    *handle = bulk;
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_create_attr(hg_class_t *hg_class, hg_uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, hg_uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle)
{
    if (!AMG_GIVEN(attrs))
        return HG_INVALID_ARG;
    if (attrs->mem_type != HG_MEM_TYPE_HOST) {
        AMG_LOG_ERROR("bulk",
            "memory type %d: only host memory can be exposed by this build",
            (int)attrs->mem_type);
        return HG_OPNOTSUPPORTED;
    }
    return HG_Bulk_create(hg_class, count, buf_ptrs, buf_sizes, flags, handle);
}

hg_return_t HG_Bulk_free(hg_bulk_t handle)
{
    if (handle == HG_BULK_NULL)
        return HG_SUCCESS;
    return AMG_BULK_OK(handle) ? amg_bulk_unref(handle) : amg_refusal_end();
}

hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle)
{
    if (!AMG_BULK_OK(handle))
        return amg_refusal();
    amg_bulk_ref(handle);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset, hg_size_t size,
    hg_uint8_t flags, hg_uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, hg_uint32_t *actual_count)
{
    struct amg_seg_iter at;
    struct amg_segment copy;
    uint32_t found = 0;
    uint32_t i = 0;
    uint64_t into = offset;

    (void)flags;
    if (!AMG_BULK_OK(handle))
        return amg_refusal();
    copy = (struct amg_segment){handle->eager, handle->len};
    at = handle->eager != NULL
             ? (struct amg_seg_iter){&copy, 1, 0, 0}
             : (struct amg_seg_iter){handle->segments, handle->count, 0, 0};
    if (size == 0 || max_count == 0) {
        if (actual_count != NULL)
            *actual_count = 0;
        return HG_SUCCESS;
    }
    if (!AMG_CONTRACT(handle->eager != NULL || amg_bulk_is_here(handle),
            "the memory of handle %p is in another process, or its owner has "
            "freed it; HG_Bulk_transfer() reads memory of another process",
            (void *)handle))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(offset <= handle->len && size <= handle->len - offset,
            "%llu bytes at %llu pass the end of handle %p, which has %llu",
            (unsigned long long)size, (unsigned long long)offset,
            (void *)handle, (unsigned long long)handle->len))
        return HG_INVALID_ARG;
    if (handle->eager == NULL)
        i = amg_bulk_find(handle, offset, &into);
    for (; i < at.count && found < max_count && size > 0; i++) {
        uint64_t left = at.segments[i].len - into;
        uint64_t len = left < size ? left : size;

        if (len > 0) {
            if (buf_ptrs != NULL)
                buf_ptrs[found] = (char *)at.segments[i].base + into;
            if (buf_sizes != NULL)
                buf_sizes[found] = len;
            found++;
        }
        size -= len;
        into = 0;
    }
    if (actual_count != NULL)
        *actual_count = found;
    return HG_SUCCESS;
}

hg_size_t HG_Bulk_get_size(hg_bulk_t handle)
{
    return handle == HG_BULK_NULL ? 0 : handle->len;
}

hg_uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle)
{
    return handle == HG_BULK_NULL ? 0 : handle->count;
}

hg_uint8_t HG_Bulk_get_flags(hg_bulk_t handle)
{
    return handle == HG_BULK_NULL ? 0 : handle->flags & BULK_FLAGS;
}

/* Descriptor: a handle as bytes, sent by the program or as an argument.
 *
 *   off  len
 *     0    1  version, 1
 *     1    1  HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY: what peers may do
 *     2    1  bits: 1 the data follow (eager); 2 bound to an address
 *     3    1  number of keys
 *     4    4  number of segments n
 *     8   16  per segment, n times: address (8), length (8)
 *         2+k per key: route (1), length k (1), the driver's k bytes
 *         3+a when bound: context id (1), length a (2), address string with NUL
 *           e when eager: the bytes of all segments
 *
 * Numbers are in the byte order of the machine. The reader checks all counts
 * and lengths against the number of bytes received. */

enum {
    PACK_VERSION = 1,
    PACK_EAGER = AMG_BULK_PACK_EAGER,
    PACK_BOUND = 2,
    PACK_FIXED_LEN = 8,
    PACK_SEGMENT_LEN = 16,
    ADDR_CAP = 256, /* a handle bound to a longer address is packed unbound */
};

/* Segments have the same layout in memory and in the descriptor. */
static_assert(sizeof(struct amg_segment) == PACK_SEGMENT_LEN &&
                  offsetof(struct amg_segment, base) == 0 &&
                  offsetof(struct amg_segment, len) == 8 && sizeof(void *) == 8,
    "the wire's segment");

static size_t bound_text(const struct hg_bulk *bulk, char *ret_text)
{
    size_t len = ADDR_CAP;

    if (bulk->bound.peer == NULL ||
        amg_addr_format(&bulk->bound, ret_text, &len) != HG_SUCCESS)
        return 0;
    return len;
}

uint64_t amg_bulk_packed_len(const struct hg_bulk *bulk, unsigned flags)
{
    uint64_t len = PACK_FIXED_LEN + (uint64_t)bulk->count * PACK_SEGMENT_LEN;
    char text[ADDR_CAP];
    size_t text_len = bound_text(bulk, text);

    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        if (bulk->keys[route].len > 0)
            len += 2u + bulk->keys[route].len;
    if (text_len > 0)
        len += 3 + text_len;
    if ((flags & AMG_BULK_PACK_EAGER) != 0)
        len += bulk->len;
    return len;
}

static char *put_bytes(char *to, const void *from, size_t len)
{
    memcpy(to, from, len);
    return to + len;
}

void amg_bulk_pack(const struct hg_bulk *bulk, unsigned flags, void *ret_bytes)
{
    bool is_eager = (flags & AMG_BULK_PACK_EAGER) != 0;
    char text[ADDR_CAP];
    uint16_t text_len = (uint16_t)bound_text(bulk, text);
    uint8_t head[4] = {PACK_VERSION, bulk->flags, 0, 0};
    struct amg_seg_iter from = {bulk->segments, bulk->count, 0, 0};
    char *to = ret_bytes;

    head[2] = (uint8_t)((is_eager ? PACK_EAGER : 0) |
                        (text_len > 0 ? PACK_BOUND : 0));
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
        head[3] = (uint8_t)(head[3] + (bulk->keys[route].len > 0 ? 1 : 0));
    to = put_bytes(to, head, sizeof(head));
    to = put_bytes(to, &bulk->count, sizeof(bulk->count));
    to = put_bytes(to, bulk->segments, (size_t)bulk->count * PACK_SEGMENT_LEN);
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++) {
        const struct amg_key *key = &bulk->keys[route];
        uint8_t key_head[2] = {(uint8_t)route, key->len};

        if (key->len == 0)
            continue;
        to = put_bytes(to, key_head, sizeof(key_head));
        to = put_bytes(to, key->bytes, key->len);
    }
    if (text_len > 0) {
        to = put_bytes(to, &bulk->bound_context, 1);
        to = put_bytes(to, &text_len, sizeof(text_len));
        to = put_bytes(to, text, text_len);
    }
    if (is_eager)
        amg_seg_iter_gather(to, &from, bulk->len);
}

/* Reader of a descriptor: the position and the bytes left. */
struct reader {
    const char *next;
    uint64_t left;
    hg_return_t ret; /* the code if a read fails */
};

static bool take_bytes(struct reader *reader, void *to, uint64_t len)
{
    if (len > reader->left) {
        reader->ret = HG_OVERFLOW;
        return false;
    }
    memcpy(to, reader->next, len);
    reader->next += len;
    reader->left -= len;
    return true;
}

static bool read_segments(struct reader *reader, struct hg_bulk *bulk)
{
    if (!take_bytes(
            reader, bulk->segments, (uint64_t)bulk->count * PACK_SEGMENT_LEN))
        return false;
    for (uint32_t i = 0; i < bulk->count; i++) {
        if (bulk->segments[i].len > UINT64_MAX - bulk->len)
            return false;
        bulk->len += bulk->segments[i].len;
    }
    return true;
}

static bool read_keys(
    struct reader *reader, struct hg_bulk *bulk, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct amg_key key = {0};
        uint8_t head[2];

        if (!take_bytes(reader, head, sizeof(head)) || head[1] == 0 ||
            head[1] > AMG_KEY_LEN_MAX)
            return false;
        key.len = head[1];
        if (!take_bytes(reader, key.bytes, key.len))
            return false;
        /* Ignores the key of a route that this build does not know. */
        if (head[0] < AMG_ROUTE_COUNT)
            bulk->keys[head[0]] = key;
    }
    return true;
}

static bool read_bound(struct reader *reader, struct hg_bulk *bulk)
{
    char text[ADDR_CAP];
    uint16_t len = 0;

    if (!take_bytes(reader, &bulk->bound_context, 1) ||
        !take_bytes(reader, &len, sizeof(len)) || len == 0 || len > ADDR_CAP ||
        !take_bytes(reader, text, len) || text[len - 1] != '\0')
        return false;
    return amg_addr_parse(bulk->cls, text, &bulk->bound) == HG_SUCCESS;
}

static bool read_eager(struct reader *reader, struct hg_bulk *bulk)
{
    if (bulk->len == 0)
        return false;
    if (bulk->len > reader->left) {
        reader->ret = HG_OVERFLOW;
        return false;
    }
    bulk->eager = amg_mem_alloc(bulk->len);
    if (bulk->eager == NULL) {
        reader->ret = HG_NOMEM;
        return false;
    }
    return take_bytes(reader, bulk->eager, bulk->len);
}

hg_return_t amg_bulk_unpack(hg_class_t *cls, const void *bytes, uint64_t len,
    bool is_internal, struct hg_bulk **ret_bulk)
{
    struct reader reader = {
        .next = bytes, .left = len, .ret = HG_PROTOCOL_ERROR};
    struct hg_bulk *bulk = NULL;
    uint32_t count = 0;
    uint8_t head[4];

    if (!take_bytes(&reader, head, sizeof(head)) ||
        !take_bytes(&reader, &count, sizeof(count)) ||
        head[0] != PACK_VERSION || count == 0)
        goto refuse;
    if (count > reader.left / PACK_SEGMENT_LEN) {
        reader.ret = HG_OVERFLOW;
        goto refuse;
    }
    if (bulk_make(cls, count, is_internal, &bulk) != HG_SUCCESS)
        return HG_NOMEM;
    bulk->flags = head[1] & HG_BULK_READWRITE;
    if (!read_segments(&reader, bulk) || !read_keys(&reader, bulk, head[3]) ||
        ((head[2] & PACK_BOUND) != 0 && !read_bound(&reader, bulk)) ||
        ((head[2] & PACK_EAGER) != 0 && !read_eager(&reader, bulk)))
        goto drop_bulk;
    (void)bulk_sealed(bulk);
    *ret_bulk = bulk;
    return HG_SUCCESS;

drop_bulk:
    amg_bulk_unref(bulk);
refuse:
    AMG_LOG_WARNING("bulk",
        "%llu bytes are not a bulk descriptor of this version (%s); dropped",
        (unsigned long long)len, HG_Error_to_string(reader.ret));
    return reader.ret;
}
