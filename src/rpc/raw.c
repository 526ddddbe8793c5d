/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of messages as programs see them, and their own headers in them.
 *
 * A program may reserve bytes of every request, and of every reply, for a
 * header of its own. It writes them before it sends, and then there is no
 * message yet: a driver gives memory for one at the post, when the peer is
 * known for certain. So a handle that is asked for its memory gets a place of
 * its own, of which the reserved bytes are copied at the post. That place stays
 * with the handle, also when it is sent again, and with the pooled object, so
 * that it is allocated once. A handle that was never asked sends zeros. */
#include "rpc/raw.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "mercury_handle.h"
#include "rpc/encode.h"

static hg_size_t larger(hg_size_t one, hg_size_t other)
{
    return one > other ? one : other;
}

void amg_raw_clear(struct hg_handle *handle)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);

    memset(handle->raw, 0, larger(rpcs->in_offset, rpcs->out_offset));
}

void amg_raw_send(
    const struct hg_handle *handle, void *message, uint16_t user_len)
{
    char *place = (char *)message + AMG_HEADER_LEN;

    if (handle->raw != NULL)
        memcpy(place, handle->raw, user_len);
    else
        memset(place, 0, user_len);
}

void amg_raw_release(struct hg_handle *handle)
{
    handle->is_released = true;
    if (handle->in.extra == NULL)
        handle->in.data = NULL;
    if (!handle->arrival->is_one_way)
        return; /* the driver needs it to find the way back */
    amg_addr_keep(&handle->addr);
    amg_handle_ep(handle)->transport->msg.release(
        amg_handle_ep(handle), handle->arrival);
    handle->arrival = NULL;
}

/* Where the program may write what is to be sent. */
static hg_return_t place_give(
    struct hg_handle *handle, hg_size_t len, void **ret_buf, hg_size_t *ret_len)
{
    const hg_class_t *cls = handle->info.hg_class;

    if (handle->raw == NULL)
        handle->raw = amg_mem_zalloc(larger(HG_Class_get_input_eager_size(cls),
            HG_Class_get_output_eager_size(cls)));
    if (handle->raw == NULL)
        return HG_NOMEM;
    *ret_buf = handle->raw;
    if (ret_len != NULL)
        *ret_len = len;
    return HG_SUCCESS;
}

/* What a message brought: the user's header, and what stands behind it. */
static void message_give(
    void *message, uint64_t len, void **ret_buf, hg_size_t *ret_len)
{
    struct amg_header header;

    memcpy(&header, message, sizeof(header));
    *ret_buf = (char *)message + AMG_HEADER_LEN;
    if (ret_len != NULL)
        *ret_len = header.user_len + amg_header_args_len(&header, len);
}

/* What did not fit beside the user's header into an eager message, be it that
 * it was pulled, or that `message` had more room (transport.h,
 * AMG_ROOM_FACTOR).
 */
static void extra_give(const struct amg_args *args, const void *message,
    hg_size_t eager_size, void **ret_buf, hg_size_t *ret_len)
{
    struct amg_header header;
    void *extra = args->extra;

    if (extra == NULL && message != NULL) {
        memcpy(&header, message, sizeof(header));
        if (header.user_len + args->len > eager_size)
            extra = args->data;
    }
    *ret_buf = extra;
    if (ret_len != NULL)
        *ret_len = extra == NULL ? 0 : args->len;
}

hg_return_t HG_Get_input_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(in_buf != NULL))
        return HG_INVALID_ARG;
    if (!handle->is_served)
        return place_give(handle,
            HG_Class_get_input_eager_size(handle->info.hg_class), in_buf,
            in_buf_size);
    if (handle->is_released) {
        AMG_LOG_ERROR("rpc", "the input was given back before");
        return HG_FAULT;
    }
    message_give(
        handle->arrival->data, handle->arrival->len, in_buf, in_buf_size);
    return HG_SUCCESS;
}

hg_return_t HG_Get_output_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(out_buf != NULL))
        return HG_INVALID_ARG;
    if (handle->is_served)
        return place_give(handle,
            HG_Class_get_output_eager_size(handle->info.hg_class), out_buf,
            out_buf_size);
    if (amg_handle_state(handle) != AMG_HANDLE_DONE ||
        handle->out.data == NULL) {
        AMG_LOG_ERROR("rpc", "the handle has no reply with arguments now");
        return HG_FAULT;
    }
    message_give(handle->op.data, handle->op.len, out_buf, out_buf_size);
    return HG_SUCCESS;
}

hg_return_t HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(in_buf != NULL))
        return HG_INVALID_ARG;
    extra_give(&handle->in,
        handle->arrival == NULL ? NULL : handle->arrival->data,
        HG_Class_get_input_eager_size(handle->info.hg_class), in_buf,
        in_buf_size);
    return HG_SUCCESS;
}

hg_return_t HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(out_buf != NULL))
        return HG_INVALID_ARG;
    extra_give(&handle->out, handle->has_reply ? handle->op.data : NULL,
        HG_Class_get_output_eager_size(handle->info.hg_class), out_buf,
        out_buf_size);
    return HG_SUCCESS;
}

hg_return_t HG_Release_input_buf(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(handle->is_served))
        return HG_INVALID_ARG;
    if (!handle->is_released)
        amg_raw_release(handle);
    return HG_SUCCESS;
}

/* Sets one of the two; `*offset` stays when it is too long. */
static hg_return_t offset_set(hg_class_t *cls, const char *what,
    hg_size_t eager_size, hg_size_t wanted, uint16_t *offset)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);

    if (wanted > eager_size || wanted > UINT16_MAX) {
        AMG_LOG_ERROR("cls",
            "%llu bytes of every %s for a header of the user's: a message has "
            "%llu; open the class with longer ones "
            "(na_init_info.max_unexpected_size)",
            (unsigned long long)wanted, what, (unsigned long long)eager_size);
        return HG_INVALID_ARG;
    }
    *offset = (uint16_t)wanted;
    rpcs->is_plain = rpcs->checksum_level == HG_CHECKSUM_NONE &&
                     rpcs->in_offset == 0 && rpcs->out_offset == 0;
    return HG_SUCCESS;
}

hg_return_t HG_Class_set_input_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    return offset_set(hg_class, "request",
        HG_Class_get_input_eager_size(hg_class), offset,
        &amg_rpc_class_of(hg_class)->in_offset);
}

hg_return_t HG_Class_set_output_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    return offset_set(hg_class, "reply",
        HG_Class_get_output_eager_size(hg_class), offset,
        &amg_rpc_class_of(hg_class)->out_offset);
}
