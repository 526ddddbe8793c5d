/* SPDX-License-Identifier: BSD-3-Clause */
/* From the user's structs to message bytes, and back. */
#include "rpc/encode.h"

#include <string.h>

#include "base/log.h"
#include "rpc/overflow.h"
#include "wire/checksum.h"
#include "wire/proc.h"

/* Small bulk data may travel along, unless the peer is this process. */
static uint8_t proc_flags(const struct hg_handle *handle)
{
    if (amg_addr_is_self(&handle->addr) ||
        handle->info.hg_class->plan.no_bulk_eager)
        return 0;
    return HG_PROC_BULK_EAGER;
}

static uint32_t sum_of(const void *data, uint64_t len)
{
    return (uint32_t)amg_checksum_add(HG_CRC32, 0, data, len);
}

/* The sum of the arguments, or of what describes their place, behind them. */
static void tail_write(char *room, uint32_t room_len)
{
    uint32_t sum = sum_of(room, room_len);

    memcpy(room + room_len, &sum, sizeof(sum));
}

/* Bytes for arguments in a message: all its room, or what is eager. */
static uint64_t args_cap(const struct hg_handle *handle,
    const struct amg_buf *buf, uint32_t around_len)
{
    const hg_class_t *cls = handle->info.hg_class;
    uint32_t eager =
        handle->is_served ? cls->limits.reply_len : cls->limits.request_len;

    if (cls->plan.no_overflow && eager < buf->cap)
        return eager - around_len;
    return buf->cap - around_len;
}

hg_return_t amg_rpc_encode_args(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    void *user, struct amg_buf *buf, uint16_t user_len, struct amg_args *args,
    uint32_t *ret_len, uint8_t *ret_flags)
{
    bool is_summed = amg_rpc_class_of(handle->info.hg_class)->checksum_level ==
                     HG_CHECKSUM_RPC_PAYLOAD;
    uint32_t tail_len = is_summed ? AMG_HEADER_TAIL_LEN : 0;
    char *room = (char *)buf->data + AMG_HEADER_LEN + user_len;
    uint64_t cap = args_cap(handle, buf, AMG_HEADER_LEN + user_len + tail_len);
    uint32_t room_len = 0;
    struct hg_proc proc;
    hg_return_t rc = HG_SUCCESS;

    amg_proc_init(&proc, handle->info.hg_class, room, cap, HG_ENCODE);
    hg_proc_set_handle(&proc, handle);
    hg_proc_set_flags(&proc, proc_flags(handle));
    amg_proc_set_memory(&proc, amg_overflow_memory(handle));
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
    room_len = (uint32_t)args->len;
    if (hg_proc_get_extra_buf(&proc) != NULL) {
        args->is_summed = is_summed;
        rc = amg_overflow_expose(handle, &proc, room, cap, args, &room_len);
        if (rc != HG_SUCCESS)
            goto fini_proc;
        *ret_flags = AMG_HEADER_MORE;
    }
    *ret_len += room_len;
    if (is_summed) {
        tail_write(room, room_len);
        *ret_len += AMG_HEADER_TAIL_LEN;
        *ret_flags |= AMG_HEADER_SUMMED;
    }

fini_proc:
    amg_proc_fini(&proc);
    return rc;
}

void amg_rpc_seal_slow(
    const struct amg_rpc_class *rpcs, void *message, uint16_t user_len)
{
    if (user_len != 0)
        amg_header_set_user_len(message, user_len);
    if (rpcs->checksum_level != HG_CHECKSUM_NONE)
        amg_header_sign(message);
}

hg_return_t amg_rpc_take(struct amg_args *args, void *message, uint64_t len,
    const struct amg_header *header)
{
    args->data = (char *)message + AMG_HEADER_LEN + header->user_len;
    args->len = amg_header_args_len(header, len);
    if ((header->flags & AMG_HEADER_SUMMED) == 0)
        return HG_SUCCESS;
    args->is_summed = true;
    memcpy(&args->sum, (const char *)args->data + args->len, sizeof(args->sum));
    return (header->flags & AMG_HEADER_MORE) != 0 ? amg_rpc_check(args)
                                                  : HG_SUCCESS;
}

hg_return_t amg_rpc_check(const struct amg_args *args)
{
    return args->is_summed && sum_of(args->data, args->len) != args->sum
               ? HG_CHECKSUM_ERROR
               : HG_SUCCESS;
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
