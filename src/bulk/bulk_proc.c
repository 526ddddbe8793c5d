/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk handle as an argument of a call, and as bytes for the program. This file
 * decides which data are sent with the descriptor. */
#include "bulk/bulk.h"

#include "base/assert.h"
#include "base/log.h"
#include "mercury_class.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"

/* May the data be sent with the descriptor? Not if peers may write the memory:
 * the copy would lack what a peer writes later. */
static bool may_send_along(const struct hg_bulk *bulk)
{
    return bulk->is_local && bulk->len > 0 && bulk->flags == HG_BULK_READ_ONLY;
}

/* Read-only data are sent with the descriptor if the message has room for both,
 * so that the target need not pull the data. */
static unsigned proc_pack_flags(hg_proc_t proc, const struct hg_bulk *bulk)
{
    bool is_wanted = (hg_proc_get_flags(proc) & HG_PROC_BULK_EAGER) != 0;
    uint64_t left = hg_proc_get_size_left(proc);
    uint64_t need = sizeof(uint64_t);

    if (!is_wanted || !may_send_along(bulk) || bulk->len > left ||
        hg_proc_get_extra_buf(proc))
        return 0;
    need += amg_bulk_packed_len(bulk, AMG_BULK_PACK_EAGER);
    return need <= left ? AMG_BULK_PACK_EAGER : 0;
}

static hg_return_t proc_encode(hg_proc_t proc, struct hg_bulk *bulk)
{
    uint64_t len = 0;
    unsigned flags = 0;
    void *room = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (bulk == HG_BULK_NULL)
        return hg_proc_uint64_t(proc, &len);
    rc = amg_bulk_register(bulk);
    if (rc != HG_SUCCESS)
        return rc;
    flags = proc_pack_flags(proc, bulk);
    len = amg_bulk_packed_len(bulk, flags);
    rc = hg_proc_uint64_t(proc, &len);
    if (rc != HG_SUCCESS)
        return rc;
    room = hg_proc_save_ptr(proc, len);
    if (room == NULL)
        return HG_OVERFLOW;
    amg_bulk_pack(bulk, flags, room);
    return hg_proc_restore_ptr(proc, room, len);
}

static hg_return_t proc_decode(hg_proc_t proc, struct hg_bulk **ret_bulk)
{
    uint64_t len = 0;
    void *bytes = NULL;
    hg_return_t rc = hg_proc_uint64_t(proc, &len);

    if (rc != HG_SUCCESS)
        return rc;
    *ret_bulk = HG_BULK_NULL;
    if (len == 0)
        return HG_SUCCESS;
    bytes =
        len <= hg_proc_get_size_left(proc) ? hg_proc_save_ptr(proc, len) : NULL;
    if (bytes == NULL)
        return HG_OVERFLOW;
    rc = amg_bulk_unpack(hg_proc_get_class(proc), bytes, len, false, ret_bulk);
    if (rc != HG_SUCCESS)
        return rc;
    return hg_proc_restore_ptr(proc, bytes, len);
}

hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void *data)
{
    struct hg_bulk **bulk = data;
    hg_return_t rc = HG_SUCCESS;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return proc_encode(proc, *bulk);
    case HG_DECODE:
        return proc_decode(proc, bulk);
    case HG_FREE:
        if (*bulk != HG_BULK_NULL)
            rc = amg_bulk_unref(*bulk);
        *bulk = HG_BULK_NULL;
        return rc;
    }
    return HG_INVALID_ARG;
}

static unsigned hand_pack_flags(const struct hg_bulk *bulk, unsigned long flags)
{
    return (flags & HG_BULK_EAGER) != 0 && may_send_along(bulk)
               ? AMG_BULK_PACK_EAGER
               : 0;
}

hg_size_t HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags)
{
    if (handle == HG_BULK_NULL || amg_bulk_register(handle) != HG_SUCCESS)
        return 0;
    return amg_bulk_packed_len(handle, hand_pack_flags(handle, flags));
}

hg_return_t HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle)
{
    hg_return_t rc = HG_SUCCESS;
    unsigned pack_flags = 0;
    uint64_t len = 0;

    if (!AMG_BULK_OK(handle) || !AMG_GIVEN(buf))
        return amg_refusal();
    rc = amg_bulk_register(handle);
    if (rc != HG_SUCCESS)
        return rc;
    pack_flags = hand_pack_flags(handle, flags);
    len = amg_bulk_packed_len(handle, pack_flags);
    if (len > buf_size) {
        AMG_LOG_ERROR("bulk", "the descriptor needs %llu bytes, not %llu",
            (unsigned long long)len, (unsigned long long)buf_size);
        return HG_OVERFLOW;
    }
    amg_bulk_pack(handle, pack_flags, buf);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_deserialize(hg_class_t *hg_class, hg_bulk_t *handle,
    const void *buf, hg_size_t buf_size)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(handle) || !AMG_GIVEN(buf))
        return amg_refusal();
    return amg_bulk_unpack(hg_class, buf, buf_size, false, handle);
}
