/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handle: memory exposed here, or the description of memory elsewhere.
 *
 * A local handle is registered with the drivers when its keys are first needed,
 * because most handles at the target of an RPC are never sent on. The last
 * reference ends the exposure before the handle's memory is freed, so a program
 * may unmap the segments as soon as it has freed the handle. */
#include "bulk/bulk.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "transport/self.h"

static struct amg_attic attic; /* of bulk handles */

#define BULK_FLAGS (HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY)

/* Entries of `starts`; 0 for a list that is short enough to be searched. */
static size_t starts_count(uint32_t count)
{
    return count <= AMG_BULK_STARTS_STEP
               ? 0
               : (count - 1) / AMG_BULK_STARTS_STEP + 1;
}

hg_return_t amg_bulk_make(
    hg_class_t *cls, uint32_t count, struct hg_bulk **ret_bulk)
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
    /* The segments are set later. */
    memset(bulk, 0, offsetof(struct hg_bulk, near));
    bulk->cls = cls;
    bulk->count = count;
    bulk->segments = segments == NULL ? bulk->near : segments;
    amg_refs_set(&bulk->refs, 1);
    amg_lock_init(&bulk->lock);
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
    unsigned route = 0;

    for (route = 0; route < AMG_ROUTE_COUNT; route++) {
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
    unsigned route = 0;

    if (!bulk->is_local)
        return HG_SUCCESS;
    /* NOTE(not a leaf): the drivers take their own locks inside; they never use
     * a bulk handle, so the order of locks is fixed. */
    amg_lock_lock(&bulk->lock);
    for (route = 0; route < AMG_ROUTE_COUNT && !bulk->is_registered; route++) {
        struct amg_domain *domain = bulk->cls->domains[route];

        if (domain == NULL || bulk->mems[route] != NULL)
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

uint64_t amg_bulk_sealed(struct hg_bulk *bulk)
{
    uint64_t *starts = (uint64_t *)(void *)(bulk->segments + bulk->count);
    uint64_t offset = 0;
    uint32_t i = 0;

    if (starts_count(bulk->count) > 0)
        bulk->starts = starts;
    for (i = 0; i < bulk->count; i++) {
        if (bulk->starts != NULL && i % AMG_BULK_STARTS_STEP == 0)
            starts[i / AMG_BULK_STARTS_STEP] = offset;
        offset += bulk->segments[i].len;
    }
    return offset;
}

/* The last segment in `starts` that begins at or before `offset`, which becomes
 * the distance from there. */
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

void amg_bulk_copy_out(const struct hg_bulk *bulk, void *ret_bytes)
{
    char *to = ret_bytes;
    uint32_t i = 0;

    for (i = 0; i < bulk->count; i++) {
        if (bulk->segments[i].len > 0)
            memcpy(to, bulk->segments[i].base, bulk->segments[i].len);
        to += bulk->segments[i].len;
    }
}

hg_return_t amg_bulk_make_owning(hg_class_t *cls, void *data, uint64_t len,
    uint8_t flags, struct hg_bulk **ret_bulk)
{
    struct hg_bulk *bulk = NULL;
    hg_return_t rc = amg_bulk_make(cls, 1, &bulk);

    if (rc != HG_SUCCESS)
        return rc;
    bulk->flags = flags;
    bulk->is_local = true;
    bulk->is_internal = true;
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
    hg_return_t rc = amg_bulk_make(cls, count, &bulk);

    if (rc != HG_SUCCESS)
        return rc;
    bulk->flags = flags;
    bulk->is_local = true;
    fill(arg, bulk->segments);
    bulk->len = amg_bulk_sealed(bulk);
    amg_class_count(cls, AMG_CLASS_BULKS, 1);
    *ret_bulk = bulk;
    return HG_SUCCESS;
}

/* Sums the sizes; HG_INVALID_ARG if they exceed 64 bits or a pointer is
 * missing. */
static hg_return_t sizes_check(uint32_t count, void *const *buf_ptrs,
    const hg_size_t *buf_sizes, uint64_t *ret_len)
{
    uint64_t len = 0;
    uint32_t i = 0;

    for (i = 0; i < count; i++) {
        if (buf_sizes[i] > UINT64_MAX - len) {
            AMG_LOG_ERROR("bulk",
                "segment %u of %u: the sizes add up to more than 2^64 bytes", i,
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

/* Sets the segments, in memory of the library if the list is NULL. */
static hg_return_t segments_set(
    struct hg_bulk *bulk, void *const *buf_ptrs, const hg_size_t *buf_sizes)
{
    char *next = NULL;
    uint32_t i = 0;

    if (buf_ptrs == NULL && bulk->len > 0) {
        bulk->owned = amg_class_pool_alloc(
            bulk->cls->pool, bulk->len, AMG_CLASS_POOL_ZEROS);
        if (bulk->owned == NULL)
            return HG_NOMEM;
        next = bulk->owned;
    }
    for (i = 0; i < bulk->count; i++) {
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
    rc = amg_bulk_make(hg_class, count, &bulk);
    if (rc != HG_SUCCESS)
        return rc;
    bulk->flags = flags;
    bulk->is_local = true;
    bulk->len = len;
    rc = segments_set(bulk, buf_ptrs, buf_sizes);
    amg_class_count(hg_class, AMG_CLASS_BULKS, 1);
    if (rc != HG_SUCCESS) {
        bulk_destroy(bulk);
        return rc;
    }
    (void)amg_bulk_sealed(bulk);
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
    uint32_t found = 0;
    uint32_t i = 0;
    uint64_t into = 0;

    (void)flags;
    if (!AMG_BULK_OK(handle))
        return amg_refusal();
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
    if (handle->eager != NULL) { /* the copy has a single segment */
        if (buf_ptrs != NULL)
            buf_ptrs[0] = (char *)handle->eager + offset;
        if (buf_sizes != NULL)
            buf_sizes[0] = size;
        if (actual_count != NULL)
            *actual_count = 1;
        return HG_SUCCESS;
    }
    for (i = amg_bulk_find(handle, offset, &into);
         i < handle->count && found < max_count && size > 0; i++) {
        uint64_t left = handle->segments[i].len - into;
        uint64_t len = left < size ? left : size;

        if (len > 0) {
            if (buf_ptrs != NULL)
                buf_ptrs[found] = (char *)handle->segments[i].base + into;
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
