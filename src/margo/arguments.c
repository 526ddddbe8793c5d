/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output of a call: Margo's header in front of the arguments, and the
 * functions that decode and free the program's structs; also for programs that
 * use Mercury's API alone to call, or to serve, an RPC of Margo.
 *
 *   input                            output
 *   off len                          off len
 *     0   4 1 if a parent follows,     0   4 hg_return_t of Margo
 *           else 0                     4   n after HG_SUCCESS the program's
 *     4   8 parent: id of the RPC            output, else a text, if any
 *           whose handler makes the
 *           call; only with a monitor
 * 4, 12 n the program's input
 *
 * Without a monitor, an input without a struct has no bytes at all, nor has an
 * output of HG_SUCCESS without a struct. So a call without arguments is as
 * short as a call of HG (wire/header.h). */
#include <string.h>

#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/log.h"
#include "margo-hg-shim.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/request.h"
#include "margo/rpc.h"
#include "mercury.h"
#include "mercury_proc_base.h"
#include "mercury_proc_buf.h"

enum {
    HAS_PARENT = 1, /* the only bit of an input's first word */
};

static hg_return_t user_code(hg_proc_t proc, const struct amg_margo_args *args)
{
    if (args->proc == NULL || args->user == NULL)
        return HG_SUCCESS;
    return args->proc(proc, args->user);
}

/* Is the message empty, and so without a header? */
static bool is_bare(hg_proc_t proc)
{
    return hg_proc_peek_op(proc) == HG_DECODE &&
           hg_proc_get_size_left(proc) == 0;
}

static hg_return_t input_code(hg_proc_t proc, struct amg_margo_args *args)
{
    uint32_t head = args->parent_id != 0 ? HAS_PARENT : 0;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_peek_op(proc) == HG_FREE || is_bare(proc))
        return user_code(proc, args);
    rc = hg_proc_uint32_t(proc, &head);
    if (rc != HG_SUCCESS)
        return rc;
    if ((head & ~(uint32_t)HAS_PARENT) != 0)
        return HG_PROTOCOL_ERROR;
    if ((head & HAS_PARENT) != 0) {
        rc = hg_proc_uint64_t(proc, &args->parent_id);
        if (rc != HG_SUCCESS)
            return rc;
    }
    return user_code(proc, args);
}

static hg_return_t output_code(hg_proc_t proc, struct amg_margo_args *args)
{
    uint32_t code = (uint32_t)args->code;
    hg_return_t rc = HG_SUCCESS;

    if (code != HG_SUCCESS && hg_proc_peek_op(proc) == HG_ENCODE)
        amg_handle_fail_member(hg_proc_get_handle(proc), args->code);
    if (hg_proc_peek_op(proc) == HG_FREE || is_bare(proc))
        return user_code(proc, args);
    rc = hg_proc_uint32_t(proc, &code);
    if (rc != HG_SUCCESS)
        return rc;
    if (code >= HG_RETURN_MAX)
        return HG_PROTOCOL_ERROR;
    args->code = (hg_return_t)code;
    return code == HG_SUCCESS || hg_proc_peek_op(proc) == HG_ENCODE
               ? user_code(proc, args)
               : HG_SUCCESS;
}

hg_return_t amg_margo_proc_fold(hg_proc_t proc, void *data)
{
    const struct hg_info *info = HG_Get_info(hg_proc_get_handle(proc));
    const struct amg_margo_rpc *rpc =
        HG_Registered_data(info->hg_class, info->id);
    struct amg_margo_args args = {.user = data};

    if (rpc == NULL)
        return HG_NOENTRY;
    args.proc = rpc->fold_proc != NULL ? rpc->fold_proc : rpc->out_proc;
    return output_code(proc, &args);
}

hg_return_t amg_margo_proc_input(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
    struct margo_request_struct *req = args->monitored;
    struct margo_monitor_set_input_args event;

    if (req == NULL)
        return input_code(proc, args);
    event = (struct margo_monitor_set_input_args){
        .handle = req->handle, .request = req, .data = args->user};
    AMG_MARGO_NOTIFY_CALL(req->mid, set_input, &event, input_code(proc, args));
    return event.ret;
}

hg_return_t amg_margo_proc_output(hg_proc_t proc, void *data)
{
    struct amg_margo_args *args = data;
    struct margo_request_struct *req = args->monitored;
    struct margo_monitor_set_output_args event;

    if (req == NULL)
        return output_code(proc, args);
    event = (struct margo_monitor_set_output_args){
        .handle = req->handle, .request = req, .data = args->user};
    AMG_MARGO_NOTIFY_CALL(
        req->mid, set_output, &event, output_code(proc, args));
    return event.ret;
}

/* Copies the first `count` bytes of received arguments. False: fewer came. */
static inline bool args_peek(
    hg_handle_t handle, bool is_input, void *ret_bytes, size_t count)
{
    const struct amg_args *args = amg_handle_args(handle, is_input);

    if (args->data == NULL || args->len < count)
        return false;
    memcpy(ret_bytes, args->data, count);
    return true;
}

hg_return_t amg_margo_peek_code(hg_handle_t handle)
{
    uint32_t code = 0;

    if (!args_peek(handle, false, &code, sizeof(code)))
        return HG_SUCCESS;
    return code < HG_RETURN_MAX ? (hg_return_t)code : HG_PROTOCOL_ERROR;
}

size_t amalgam_margo_error_text(hg_handle_t handle, char *text)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);
    char bytes[sizeof(uint32_t) + AMALGAM_MARGO_TEXT_MAX];
    size_t len = 0;

    if (!AMG_CONTRACT(data != NULL, "handle is of no instance") ||
        !AMG_GIVEN(text) || !data->is_refused ||
        amg_margo_is_inherited(data->mid))
        return 0;
    len = amg_handle_args(handle, false)->len;
    if (len > sizeof(bytes))
        len = sizeof(bytes);
    if (len <= sizeof(uint32_t) || !args_peek(handle, false, bytes, len))
        return 0;
    len -= sizeof(uint32_t);
    memcpy(text, bytes + sizeof(uint32_t), len);
    text[len] = '\0';
    return len;
}

hg_id_t amg_margo_peek_parent(hg_handle_t handle)
{
    char bytes[sizeof(uint32_t) + sizeof(hg_id_t)];
    uint32_t head = 0;
    hg_id_t parent_id = 0;

    if (!args_peek(handle, true, bytes, sizeof(bytes)))
        return 0;
    memcpy(&head, bytes, sizeof(head));
    if (head == HAS_PARENT)
        memcpy(&parent_id, bytes + sizeof(head), sizeof(parent_id));
    return parent_id;
}

/* Sets the program's struct, and the proc that decodes and frees the struct. */
static AMG_INLINE hg_return_t args_prepare(
    hg_handle_t handle, bool is_input, void *user, struct amg_margo_args *args)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);
    margo_instance_id mid = amg_margo_handle_instance(handle);
    const struct amg_margo_rpc *rpc = NULL;

    if (!AMG_CONTRACT_OF(is_input ? "margo_get_input" : "margo_get_output",
            mid != MARGO_INSTANCE_NULL, "handle %p is of no Margo instance",
            (void *)handle))
        return HG_INVALID_ARG;
    rpc = data != NULL && data->mid != MARGO_INSTANCE_NULL
              ? amg_margo_handle_rpc(data)
              : amg_margo_rpc_of(mid, HG_Get_info(handle)->id);
    if (rpc == NULL) {
        margo_error(mid,
            "RPC id 0x%llx is not registered, or no longer: its arguments "
            "cannot be decoded",
            (unsigned long long)HG_Get_info(handle)->id);
        return HG_NO_MATCH;
    }
    args->user = user;
    args->proc = is_input ? rpc->in_proc : rpc->out_proc;
    if (user != NULL && args->proc == NULL) {
        margo_error(mid, "RPC \"%s\" is registered without an %s", rpc->name,
            is_input ? "input" : "output");
        return HG_NO_MATCH;
    }
    return HG_SUCCESS;
}

/* HG_Get_input(), HG_Free_input(), HG_Get_output() or HG_Free_output(). */
typedef hg_return_t (*hg_call_fn)(hg_handle_t handle, void *args);

static AMG_INLINE hg_return_t args_pass(
    hg_handle_t handle, bool is_input, void *user, hg_call_fn call)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, is_input, user, &args);

    return rc == HG_SUCCESS ? call(handle, &args) : rc;
}

/* Decodes an output, or returns the error code in front of the output. */
static hg_return_t output_decode(hg_handle_t handle, void *arg)
{
    struct amg_margo_args *args = arg;
    hg_return_t rc = HG_Get_output(handle, args);

    if (rc != HG_SUCCESS || args->code == HG_SUCCESS)
        return rc;
    args->user = NULL;
    (void)HG_Free_output(handle, args);
    return args->code;
}

static hg_return_t output_get(hg_handle_t handle, void *arg)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);

    return data != NULL && data->ret != HG_SUCCESS
               ? data->ret /* the result of the call itself */
               : output_decode(handle, arg);
}

/* Makes a call, and stores its result in `ret` of `args`, the arguments of the
 * monitor's event. */
#define ARGS_CALL(event, args, call)                                           \
    do {                                                                       \
        margo_instance_id mid_ = amg_margo_handle_instance((args)->handle);    \
                                                                               \
        if (AMG_LIKELY(                                                        \
                mid_ == MARGO_INSTANCE_NULL || !AMG_MARGO_HAS_MONITOR(mid_)))  \
            (args)->ret = (call);                                              \
        else                                                                   \
            AMG_MARGO_NOTIFY_CALL(mid_, event, args, call);                    \
    } while (0)

hg_return_t margo_get_input(hg_handle_t handle, void *in_struct)
{
    struct margo_monitor_get_input_args event = {
        .handle = handle, .data = in_struct};

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    ARGS_CALL(
        get_input, &event, args_pass(handle, true, in_struct, HG_Get_input));
    return event.ret;
}

/* Is there a decoded struct to free? If not, HG_Free_input() would drop a
 * reference of the program, as if the program had decoded the bytes itself. */
static bool has_got(hg_handle_t handle, const char *call)
{
    return amg_margo_handle_is_there(handle, call) &&
           AMG_CONTRACT_OF(call, amg_refs_get(&handle->refs) >= AMG_HANDLE_GOT,
               "handle %p has nothing to free; check the result of "
               "margo_get_input() or margo_get_output()",
               (void *)handle);
}

hg_return_t margo_free_input(hg_handle_t handle, void *in_struct)
{
    struct margo_monitor_free_input_args event = {
        .handle = handle, .data = in_struct};

    if (!has_got(handle, __func__))
        return HG_INVALID_ARG;
    ARGS_CALL(
        free_input, &event, args_pass(handle, true, in_struct, HG_Free_input));
    return event.ret;
}

hg_return_t margo_get_output(hg_handle_t handle, void *out_struct)
{
    struct margo_monitor_get_output_args event = {
        .handle = handle, .data = out_struct};

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    ARGS_CALL(
        get_output, &event, args_pass(handle, false, out_struct, output_get));
    return event.ret;
}

hg_return_t margo_free_output(hg_handle_t handle, void *out_struct)
{
    struct margo_monitor_free_output_args event = {
        .handle = handle, .data = out_struct};

    if (!has_got(handle, __func__))
        return HG_INVALID_ARG;
    ARGS_CALL(free_output, &event,
        args_pass(handle, false, out_struct, HG_Free_output));
    return event.ret;
}

hg_id_t HG_Register_name_for_margo(
    hg_class_t *hg_class, const char *func_name, hg_rpc_cb_t rpc_cb)
{
    hg_id_t id = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(hg_class) || !AMG_GIVEN(func_name))
        return 0;
    id = amg_margo_rpc_id(func_name, MARGO_DEFAULT_PROVIDER_ID);
    rc = HG_Register(
        hg_class, id, amg_margo_proc_input, amg_margo_proc_output, rpc_cb);
    if (rc == HG_SUCCESS) {
        amg_rpc_find(hg_class, id)->fold_proc = NULL; /* not known here */
        amg_rpc_set_name(hg_class, id, func_name);
        return id;
    }
    AMG_LOG_ERROR("rpc", "RPC \"%s\" is not registered: %s", func_name,
        HG_Error_to_string(rc));
    return 0;
}

/* Sets the program's struct and proc. HG_NO_MATCH: the procs of the RPC are not
 * those of Margo, and would take `args` for the program's struct. */
static hg_return_t mercury_prepare(const char *call, hg_handle_t handle,
    hg_proc_cb_t proc, void *user, struct amg_margo_args *args)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_proc_cb_t in_proc = NULL;
    hg_proc_cb_t out_proc = NULL;
    hg_bool_t is_there = HG_FALSE;

    if (!AMG_CONTRACT_OF(call, info != NULL,
            "handle %p was destroyed, or is HG_HANDLE_NULL", (void *)handle) ||
        !AMG_CONTRACT_OF(call, user == NULL || proc != NULL,
            "the struct of handle %p has no proc", (void *)handle))
        return HG_INVALID_ARG;
    if (HG_Registered_proc_cb(info->hg_class, info->id, &is_there, &in_proc,
            &out_proc) != HG_SUCCESS ||
        !is_there || in_proc != amg_margo_proc_input ||
        out_proc != amg_margo_proc_output) {
        AMG_LOG_ERROR("rpc",
            "RPC id 0x%llx was not registered by HG_Register_name_for_margo()",
            (unsigned long long)info->id);
        return HG_NO_MATCH;
    }
    args->proc = proc;
    args->user = user;
    return HG_SUCCESS;
}

hg_return_t HG_Forward_to_margo(hg_handle_t handle, hg_cb_t callback, void *arg,
    hg_proc_cb_t in_proc_cb, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc =
        mercury_prepare(__func__, handle, in_proc_cb, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Forward(handle, callback, arg,
                                  in_struct == NULL ? NULL : &args)
                            : rc;
}

hg_return_t HG_Respond_to_margo(hg_handle_t handle, hg_cb_t callback, void *arg,
    hg_proc_cb_t out_proc_cb, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc =
        mercury_prepare(__func__, handle, out_proc_cb, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Respond(handle, callback, arg,
                                  out_struct == NULL ? NULL : &args)
                            : rc;
}

static hg_return_t mercury_pass(const char *name, hg_handle_t handle,
    hg_proc_cb_t proc, void *user, hg_call_fn call)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = mercury_prepare(name, handle, proc, user, &args);

    return rc == HG_SUCCESS ? call(handle, &args) : rc;
}

hg_return_t HG_Get_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct)
{
    return mercury_pass(__func__, handle, in_proc_cb, in_struct, HG_Get_input);
}

hg_return_t HG_Free_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct)
{
    return mercury_pass(__func__, handle, in_proc_cb, in_struct, HG_Free_input);
}

hg_return_t HG_Get_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct)
{
    return mercury_pass(
        __func__, handle, out_proc_cb, out_struct, output_decode);
}

hg_return_t HG_Free_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct)
{
    return mercury_pass(
        __func__, handle, out_proc_cb, out_struct, HG_Free_output);
}
