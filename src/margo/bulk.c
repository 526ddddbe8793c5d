/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: HG's, told to the monitor.
 *
 * Only who makes it names an instance. So where a monitor is told, the handle
 * is kept in a map with its instance, for whoever frees it. */
#include <stdatomic.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/map.h"
#include "margo/instance.h"
#include "mercury_bulk.h"

static struct {
    struct amg_lock lock;
    struct amg_map instances; /* by handle */
    /* How many there are; who frees one that no monitor was told of looks no
     * further. A handle reaches another thread by the program's own order. */
    atomic_uint count;
} watched;

static void watched_add(hg_bulk_t handle, margo_instance_id mid)
{
    amg_lock_take(&watched.lock);
    if (amg_map_put(&watched.instances, (uint64_t)(uintptr_t)handle, mid) ==
        HG_SUCCESS)
        atomic_fetch_add_explicit(&watched.count, 1u, memory_order_relaxed);
    amg_lock_give(&watched.lock);
}

/* The instance whose monitor was told of it, or NULL. */
static margo_instance_id watched_take(hg_bulk_t handle)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (atomic_load_explicit(&watched.count, memory_order_relaxed) == 0)
        return MARGO_INSTANCE_NULL;
    amg_lock_take(&watched.lock);
    mid = amg_map_remove(&watched.instances, (uint64_t)(uintptr_t)handle);
    if (mid != MARGO_INSTANCE_NULL)
        atomic_fetch_sub_explicit(&watched.count, 1u, memory_order_relaxed);
    amg_lock_give(&watched.lock);
    return mid;
}

hg_return_t margo_bulk_create(margo_instance_id mid, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle)
{
    return margo_bulk_create_attr(
        mid, count, buf_ptrs, buf_sizes, flags, NULL, handle);
}

hg_return_t margo_bulk_create_attr(margo_instance_id mid, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle)
{
    struct margo_monitor_bulk_create_args args = {
        .count = count,
        .ptrs = (const void *const *)buf_ptrs,
        .sizes = buf_sizes,
        .flags = flags,
        .attrs = attrs,
    };

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && mid->hg_class != NULL &&
                      handle != NULL))
        return HG_INVALID_ARG;
    AMG_MARGO_TELL(mid, bulk_create, MARGO_MONITOR_FN_START, &args);
    args.ret = attrs == NULL
                   ? HG_Bulk_create(mid->hg_class, count, buf_ptrs, buf_sizes,
                         flags, &args.handle)
                   : HG_Bulk_create_attr(mid->hg_class, count, buf_ptrs,
                         buf_sizes, flags, attrs, &args.handle);
    AMG_MARGO_TELL(mid, bulk_create, MARGO_MONITOR_FN_END, &args);
    if (args.ret != HG_SUCCESS)
        return args.ret;
    if (AMG_MARGO_IS_WATCHED(mid))
        watched_add(args.handle, mid);
    *handle = args.handle;
    return HG_SUCCESS;
}

hg_return_t margo_bulk_free(hg_bulk_t handle)
{
    struct margo_monitor_bulk_free_args args = {.handle = handle};
    margo_instance_id mid = watched_take(handle);

    if (mid == MARGO_INSTANCE_NULL)
        return HG_Bulk_free(handle);
    AMG_MARGO_TELL(mid, bulk_free, MARGO_MONITOR_FN_START, &args);
    args.ret = HG_Bulk_free(handle);
    AMG_MARGO_TELL(mid, bulk_free, MARGO_MONITOR_FN_END, &args);
    if (args.ret != HG_SUCCESS)
        watched_add(handle, mid); /* it is still there */
    return args.ret;
}

hg_return_t margo_bulk_ref_incr(hg_bulk_t handle)
{
    return HG_Bulk_ref_incr(handle);
}

hg_return_t margo_bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count)
{
    return HG_Bulk_access(handle, offset, size, flags, max_count, buf_ptrs,
        buf_sizes, actual_count);
}

hg_size_t margo_bulk_get_size(hg_bulk_t handle)
{
    return HG_Bulk_get_size(handle);
}

uint32_t margo_bulk_get_segment_count(hg_bulk_t handle)
{
    return HG_Bulk_get_segment_count(handle);
}

hg_size_t margo_bulk_get_serialize_size(hg_bulk_t handle, uint8_t flags)
{
    return HG_Bulk_get_serialize_size(handle, flags);
}

hg_return_t margo_bulk_serialize(
    void *buf, hg_size_t buf_size, uint8_t flags, hg_bulk_t handle)
{
    return HG_Bulk_serialize(buf, buf_size, flags, handle);
}

hg_return_t margo_bulk_deserialize(margo_instance_id mid, hg_bulk_t *handle,
    const void *buf, hg_size_t buf_size)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && mid->hg_class != NULL))
        return HG_INVALID_ARG;
    return HG_Bulk_deserialize(mid->hg_class, handle, buf, buf_size);
}
