/* SPDX-License-Identifier: BSD-3-Clause */
/* What a proc knows besides bytes: class, call, operation, flags, sum. */
#include "wire/proc.h"

#include <string.h>

#include "base/assert.h"
#include "wire/checksum.h"

hg_class_t *hg_proc_get_class(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->hg_class : NULL;
}

void hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle)
{
    if (AMG_CONTRACT(proc != HG_PROC_NULL))
        proc->handle = handle;
}

hg_handle_t hg_proc_get_handle(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->handle : HG_HANDLE_NULL;
}

hg_proc_op_t hg_proc_get_op(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->op : HG_FREE;
}

void hg_proc_set_flags(hg_proc_t proc, uint8_t flags)
{
    if (AMG_CONTRACT(proc != HG_PROC_NULL))
        proc->flags = flags;
}

uint8_t hg_proc_get_flags(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->flags : 0;
}

/* The sum is up to date after each byte, so there is nothing left to do. */
hg_return_t hg_proc_flush(hg_proc_t proc)
{
    return AMG_CONTRACT(proc != HG_PROC_NULL) ? HG_SUCCESS : HG_INVALID_ARG;
}

/* The sum as its bytes, and how many these are. */
static hg_return_t sum_bytes(const struct hg_proc *proc, hg_size_t room,
    uint8_t ret_bytes[sizeof(uint64_t)], size_t *ret_len)
{
    size_t len = amg_checksum_len(proc->hash);
    const uint16_t sum16 = (uint16_t)proc->sum;
    const uint32_t sum32 = (uint32_t)proc->sum;

    if (len == 0)
        return HG_OPNOTSUPPORTED;
    if (room < len)
        return HG_OVERFLOW;
    if (len == sizeof(sum16))
        memcpy(ret_bytes, &sum16, len);
    else if (len == sizeof(sum32))
        memcpy(ret_bytes, &sum32, len);
    else
        memcpy(ret_bytes, &proc->sum, len);
    *ret_len = len;
    return HG_SUCCESS;
}

hg_return_t hg_proc_checksum_get(
    hg_proc_t proc, void *hash, hg_size_t hash_size)
{
    uint8_t bytes[sizeof(uint64_t)];
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(proc != HG_PROC_NULL) || !AMG_CONTRACT(hash != NULL))
        return HG_INVALID_ARG;
    rc = sum_bytes(proc, hash_size, bytes, &len);
    if (rc == HG_SUCCESS)
        memcpy(hash, bytes, len);
    return rc;
}

hg_return_t hg_proc_checksum_verify(
    hg_proc_t proc, const void *hash, hg_size_t hash_size)
{
    uint8_t bytes[sizeof(uint64_t)];
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(proc != HG_PROC_NULL) || !AMG_CONTRACT(hash != NULL))
        return HG_INVALID_ARG;
    rc = sum_bytes(proc, hash_size, bytes, &len);
    if (rc == HG_SUCCESS && memcmp(hash, bytes, len) != 0)
        return HG_CHECKSUM_ERROR;
    return rc;
}

void hg_proc_checksum_update(hg_proc_t proc, void *data, hg_size_t data_size)
{
    if (AMG_CONTRACT(proc != HG_PROC_NULL) && data != NULL)
        proc->sum = amg_checksum_add(proc->hash, proc->sum, data, data_size);
}
