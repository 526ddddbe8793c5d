/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory: HG's, told to the monitor. */
#include "base/assert.h"
#include "margo/instance.h"
#include "mercury_bulk.h"

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
    if (args.ret == HG_SUCCESS)
        *handle = args.handle;
    return args.ret;
}

hg_return_t margo_bulk_free(hg_bulk_t handle)
{
    return HG_Bulk_free(handle);
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
