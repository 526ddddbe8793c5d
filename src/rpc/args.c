/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of a handle as the user sees them: structs, sizes and raw bytes. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "mercury_handle.h"
#include "rpc/encode.h"
#include "rpc/handle.h"

/* A program may reserve bytes of every request, and of every reply, for a
 * header of its own. The program writes that header before it sends, when there
 * is no message yet: the driver provides a buffer only at the post, when the
 * peer is known for certain. So a handle that is asked for the header allocates
 * a buffer, `raw`, and the post copies the reserved bytes from `raw`. A handle
 * keeps `raw` for later calls, also while the handle is in the pool. A handle
 * that was never asked for the header sends zeros. */

static hg_size_t larger(hg_size_t one, hg_size_t other)
{
    return one > other ? one : other;
}

/* Did the input arrive in a long buffer of the driver? */
static bool input_is_long(const struct hg_handle *handle)
{
    const hg_class_t *cls = handle->info.hg_class;

    return !handle->is_shared && handle->arrival != NULL &&
           handle->arrival->len >
               (uint64_t)cls->limits.request_len * AMG_ROOM_FACTOR;
}

/* Copies the arguments from the message to the heap. False: no memory. */
static bool input_move(struct amg_args *args)
{
    void *copy = amg_mem_alloc(args->len);

    if (copy == NULL)
        return false;
    memcpy(copy, args->data, args->len);
    args->extra = copy;
    args->data = copy;
    return true;
}

/* Releases the input of a request, and the message of a one-way request: any
 * other message is needed for the reply. Long arguments stay available. */
static void raw_release(struct hg_handle *handle)
{
    handle->in.was_released = true;
    if (handle->in.extra == NULL && !input_is_long(handle))
        handle->in.data = NULL;
    if (handle->arrival == NULL || !handle->arrival->is_one_way)
        return; /* the driver needs the message to address the reply */
    if (handle->in.extra == NULL && handle->in.data != NULL &&
        !input_move(&handle->in))
        return; /* no memory for the copy: the message stays */
    amg_addr_keep(&handle->addr);
    amg_handle_release_arrival(handle);
}

static hg_return_t bytes_give(
    void *bytes, hg_size_t len, void **ret_buf, hg_size_t *ret_len)
{
    *ret_buf = bytes;
    if (ret_len != NULL)
        *ret_len = len;
    return HG_SUCCESS;
}

/* Returns the buffer for a header that the program is about to send. */
static hg_return_t place_give(
    struct hg_handle *handle, hg_size_t len, void **ret_buf, hg_size_t *ret_len)
{
    const hg_class_t *cls = handle->info.hg_class;

    if (handle->raw == NULL)
        handle->raw = amg_mem_zalloc(larger(HG_Class_get_input_eager_size(cls),
            HG_Class_get_output_eager_size(cls)));
    if (handle->raw == NULL)
        return HG_NOMEM;
    return bytes_give(handle->raw, len, ret_buf, ret_len);
}

/* Returns the user's header and the arguments of a received message. */
static hg_return_t message_give(
    void *message, uint64_t len, void **ret_buf, hg_size_t *ret_len)
{
    struct amg_header header;

    memcpy(&header, message, sizeof(header));
    return bytes_give((char *)message + AMG_HEADER_LEN,
        header.user_len + amg_header_args_len(&header, len), ret_buf, ret_len);
}

/* Returns the arguments if an eager message has no room for them beside the
 * user's header, else NULL. Such arguments were pulled, or `message` had more
 * room (transport.h, AMG_ROOM_FACTOR), or the call was looped (forward.c). */
static hg_return_t extra_give(const struct amg_args *args, const void *message,
    hg_size_t eager_size, void **ret_buf, hg_size_t *ret_len)
{
    struct amg_header header;
    void *extra = args->extra;

    if (extra == NULL && message != NULL) {
        memcpy(&header, message, sizeof(header));
        if (header.user_len + args->len > eager_size)
            extra = args->data;
    } else if (message == NULL && args->len <= eager_size) {
        extra = NULL;
    }
    return bytes_give(extra, extra == NULL ? 0 : args->len, ret_buf, ret_len);
}

hg_return_t HG_Get_input_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_GIVEN(in_buf))
        return amg_refusal();
    if (!handle->is_incoming)
        return place_give(handle,
            HG_Class_get_input_eager_size(handle->info.hg_class), in_buf,
            in_buf_size);
    if (handle->in.was_released) {
        AMG_LOG_ERROR(
            "rpc", "HG_Get_input_buf(): the input was released before");
        return HG_FAULT;
    }
    if (!handle->is_shared && handle->arrival != NULL)
        return message_give(
            handle->arrival->data, handle->arrival->len, in_buf, in_buf_size);
    return bytes_give(handle->in.data, handle->in.len, in_buf, in_buf_size);
}

hg_return_t HG_Get_output_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_GIVEN(out_buf))
        return amg_refusal();
    if (handle->is_incoming)
        return place_give(handle,
            HG_Class_get_output_eager_size(handle->info.hg_class), out_buf,
            out_buf_size);
    if (amg_handle_state(handle) != AMG_HANDLE_DONE ||
        handle->out.data == NULL) {
        AMG_LOG_ERROR(
            "rpc", "HG_Get_output_buf(): the call has no reply with arguments");
        return HG_FAULT;
    }
    if (handle->has_reply)
        return message_give(
            handle->op.data, handle->op.len, out_buf, out_buf_size);
    return bytes_give(handle->out.data, handle->out.len, out_buf, out_buf_size);
}

hg_return_t HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_GIVEN(in_buf))
        return amg_refusal();
    return extra_give(&handle->in,
        handle->arrival == NULL ? NULL : handle->arrival->data,
        HG_Class_get_input_eager_size(handle->info.hg_class), in_buf,
        in_buf_size);
}

hg_return_t HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_GIVEN(out_buf))
        return amg_refusal();
    return extra_give(&handle->out, handle->has_reply ? handle->op.data : NULL,
        HG_Class_get_output_eager_size(handle->info.hg_class), out_buf,
        out_buf_size);
}

hg_return_t HG_Release_input_buf(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle) ||
        !AMG_CONTRACT(handle->is_incoming,
            "handle %p was made by HG_Create(); only targets release input",
            (void *)handle))
        return amg_refusal_end();
    if (!handle->in.was_released)
        raw_release(handle);
    return HG_SUCCESS;
}

/* Sets in_offset or out_offset; `*offset` stays if `wanted` is too large. */
static hg_return_t offset_set(hg_class_t *cls, const char *what,
    hg_size_t eager_size, hg_size_t wanted, uint16_t *offset)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);

    if (wanted > eager_size || wanted > UINT16_MAX) {
        AMG_LOG_ERROR("cls",
            "%llu bytes of every %s are wanted for the program's header, but a "
            "message has only %llu; open the class with longer messages "
            "(na_init_info.max_unexpected_size)",
            (unsigned long long)wanted, what, (unsigned long long)eager_size);
        return HG_INVALID_ARG;
    }
    AMG_ASSERT(offset == &rpcs->in_offset || offset == &rpcs->out_offset);
    *offset = (uint16_t)wanted;
    atomic_store_explicit(&rpcs->is_plain,
        rpcs->checksum_level == HG_CHECKSUM_NONE && rpcs->in_offset == 0 &&
            rpcs->out_offset == 0,
        memory_order_relaxed);
    return HG_SUCCESS;
}

hg_return_t HG_Class_set_input_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    return offset_set(hg_class, "request",
        HG_Class_get_input_eager_size(hg_class), offset,
        &amg_rpc_class_of(hg_class)->in_offset);
}

hg_return_t HG_Class_set_output_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    return offset_set(hg_class, "reply",
        HG_Class_get_output_eager_size(hg_class), offset,
        &amg_rpc_class_of(hg_class)->out_offset);
}

/* Can the handle have an input, or an output? Checks side, state and proc. */
static AMG_INLINE hg_return_t args_check(
    const struct hg_handle *handle, bool wants_input, const void *user)
{
    enum amg_handle_state state;

    if (!AMG_CONTRACT_OF(wants_input ? "HG_Get_input" : "HG_Get_output",
            user != NULL, "the struct is NULL") ||
        !AMG_CONTRACT_OF(wants_input ? "HG_Get_input" : "HG_Get_output",
            handle->is_incoming == wants_input, "handle %p %s",
            (const void *)handle,
            wants_input
                ? "was made by HG_Create(); only the target of a call gets its "
                  "input"
                : "came in here; only the origin of a call gets its output"))
        return HG_INVALID_ARG;
    state = amg_handle_state(handle);
    /* At an origin the output exists once the callback of the call runs. */
    if (!wants_input &&
        !AMG_CONTRACT_OF("HG_Get_output", state == AMG_HANDLE_DONE,
            "the call of handle %p has no answer yet; wait until its callback "
            "ran",
            (const void *)handle))
        return HG_INVALID_ARG;
    if (handle->rpc == NULL ||
        (wants_input ? handle->rpc->in_proc : handle->rpc->out_proc) == NULL) {
        AMG_LOG_ERROR("rpc", "RPC id 0x%llx is registered without %s proc",
            (unsigned long long)handle->info.id,
            wants_input ? "an input" : "an output");
        return HG_FAULT;
    }
    return HG_SUCCESS;
}

/* Runs the proc over received bytes: HG_DECODE or HG_FREE. */
static AMG_INLINE hg_return_t args_decode(
    struct hg_handle *handle, bool wants_input, hg_proc_op_t op, void *user)
{
    struct amg_args *args = amg_handle_args(handle, wants_input);
    struct hg_proc proc;
    hg_return_t rc = HG_SUCCESS;

    amg_proc_init(&proc, handle->info.hg_class, args->data, args->len, op);
    proc.handle = handle;
    rc = wants_input ? handle->rpc->in_proc(&proc, user)
                     : handle->rpc->out_proc(&proc, user);
    /* A proc that never asked for the operation would free nothing. */
    if (proc.at.was_asked_op)
        args->may_free = true;
    amg_proc_fini(&proc);
    return rc;
}

static AMG_INLINE hg_return_t args_get(
    struct hg_handle *handle, bool wants_input, void *user)
{
    struct amg_args *args = amg_handle_args(handle, wants_input);
    hg_return_t rc = args_check(handle, wants_input, user);

    if (rc != HG_SUCCESS)
        return rc;
    args->was_asked = true;
    if (args->data == NULL && handle->in.was_released) {
        AMG_LOG_ERROR("rpc",
            "the input of RPC id 0x%llx was released before, by "
            "HG_Release_input_buf() or, with release_input_early, by the first "
            "HG_Get_input()",
            (unsigned long long)handle->info.id);
        return HG_FAULT;
    }
    if (args->data == NULL) {
        AMG_LOG_ERROR("rpc",
            "a call of RPC id 0x%llx ended with %s: there are no arguments",
            (unsigned long long)handle->info.id,
            HG_Error_to_string(handle->ret));
        return HG_FAULT;
    }
    rc = amg_rpc_check(args);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "wrong checksum of %llu bytes of arguments of RPC id 0x%llx; call "
            "again, and check the memory and the network of both nodes",
            (unsigned long long)args->len, (unsigned long long)handle->info.id);
        return rc;
    }
    if (atomic_fetch_add_explicit(&handle->refs, AMG_HANDLE_GOT,
            memory_order_relaxed) < AMG_HANDLE_GOT)
        args->may_free = false;
    rc = args_decode(handle, wants_input, HG_DECODE, user);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not decode %llu bytes: %s; do "
            "both sides register the same types?",
            (unsigned long long)handle->info.id, (unsigned long long)args->len,
            HG_Error_to_string(rc));
        (void)amg_handle_drop(handle, AMG_HANDLE_GOT);
    }
    return rc;
}

/* Frees a decoded struct, for the public function `call`, and drops the
 * reference that args_get() took, or a reference of the program, if the program
 * has decoded the message itself. HG_INVALID_ARG: args_get() has run, but
 * failed, or the struct was freed before. */
static AMG_INLINE hg_return_t args_free(
    struct hg_handle *handle, const char *call, bool wants_input, void *user)
{
    const struct amg_args *args = amg_handle_args(handle, wants_input);
    hg_return_t rc = args_check(handle, wants_input, user);
    int share = 1;

    if (rc != HG_SUCCESS)
        return rc;
    if (amg_refs_get(&handle->refs) >= AMG_HANDLE_GOT)
        share = AMG_HANDLE_GOT;
    if (share == 1 && args->was_asked) {
        AMG_LOG_ERROR("rpc",
            "%s(): handle %p (RPC id 0x%llx) has nothing to free; check the "
            "result of HG_Get_input() or HG_Get_output()",
            call, (void *)handle, (unsigned long long)handle->info.id);
        return HG_INVALID_ARG;
    }
    if (share == 1 || args->may_free)
        rc = args_decode(handle, wants_input, HG_FREE, user);
    return amg_handle_drop(handle, share) ? rc : HG_INVALID_ARG;
}

hg_return_t HG_Get_input(hg_handle_t handle, void *in_struct)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_HANDLE_OK(handle))
        return amg_refusal();
    rc = args_get(handle, true, in_struct);
    if (rc == HG_SUCCESS && handle->info.hg_class->plan.release_input_early &&
        !handle->in.was_released)
        raw_release(handle);
    return rc;
}

hg_return_t HG_Free_input(hg_handle_t handle, void *in_struct)
{
    return AMG_HANDLE_OK(handle) ? args_free(handle, __func__, true, in_struct)
                                 : amg_refusal_end();
}

hg_return_t HG_Get_output(hg_handle_t handle, void *out_struct)
{
    return AMG_HANDLE_OK(handle) ? args_get(handle, false, out_struct)
                                 : amg_refusal();
}

hg_return_t HG_Free_output(hg_handle_t handle, void *out_struct)
{
    if (!AMG_HANDLE_OK(handle))
        return amg_refusal_end();
    /* At the target: frees the memory of the program's own struct. */
    if (handle->is_incoming && out_struct != NULL && handle->rpc != NULL &&
        handle->rpc->out_proc != NULL)
        return args_decode(handle, false, HG_FREE, out_struct);
    return args_free(handle, __func__, false, out_struct);
}

hg_size_t HG_Get_input_payload_size(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? handle->in.len : 0;
}

hg_size_t HG_Get_output_payload_size(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? handle->out.len : 0;
}
