/* SPDX-License-Identifier: BSD-3-Clause */
/* From the user's structs to message bytes, and back. */
#include "rpc/encode.h"

#include "base/log.h"
#include "rpc/overflow.h"
#include "wire/header.h"
#include "wire/proc.h"

/* Small bulk data may travel along, unless the peer is this process. */
static uint8_t proc_flags(const struct hg_handle *handle)
{
    if (amg_addr_is_self(&handle->addr) ||
        handle->info.hg_class->plan.no_bulk_eager)
        return 0;
    return HG_PROC_BULK_EAGER;
}

hg_return_t amg_rpc_encode(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_buf *buf, struct amg_args *args, uint32_t *ret_len,
    uint8_t *ret_flags)
{
    char *room = (char *)buf->data + AMG_HEADER_LEN;
    uint64_t cap = buf->cap - AMG_HEADER_LEN;
    struct hg_proc proc;
    hg_return_t rc = HG_SUCCESS;

    *ret_len = AMG_HEADER_LEN;
    *ret_flags = 0;
    args->len = 0;
    if (proc_cb == NULL || user == NULL)
        return HG_SUCCESS;
    amg_proc_init(&proc, handle->info.hg_class, room, cap, HG_ENCODE);
    hg_proc_set_handle(&proc, handle);
    hg_proc_set_flags(&proc, proc_flags(handle));
    rc = proc_cb(&proc, user);
    if (rc == HG_SUCCESS)
        rc = hg_proc_flush(&proc);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not encode its arguments",
            (unsigned long long)handle->info.id);
        goto fini_proc;
    }
    args->len = hg_proc_get_size_used(&proc);
    if (hg_proc_get_extra_buf(&proc) == NULL) {
        *ret_len += (uint32_t)args->len;
        goto fini_proc;
    }
    rc = amg_overflow_expose(handle, &proc, room, cap, args, ret_len);
    if (rc == HG_SUCCESS)
        *ret_flags = AMG_HEADER_MORE;

fini_proc:
    amg_proc_fini(&proc);
    return rc;
}

hg_return_t amg_rpc_decode(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    hg_proc_op_t op, const struct amg_args *args, void *user)
{
    struct hg_proc proc;
    hg_return_t rc = HG_SUCCESS;

    amg_proc_init(&proc, handle->info.hg_class, args->data, args->len, op);
    hg_proc_set_handle(&proc, handle);
    rc = proc_cb(&proc, user);
    amg_proc_fini(&proc);
    return rc;
}
