/* SPDX-License-Identifier: BSD-3-Clause */
/* A handle's arguments as the user sees them: structs and sizes. */
#include "base/assert.h"
#include "base/log.h"
#include "mercury_class.h"
#include "mercury_handle.h"
#include "rpc/encode.h"
#include "rpc/handle.h"
#include "rpc/raw.h"

/* Has this handle the bytes that were asked for? */
static hg_return_t args_check(
    const struct hg_handle *handle, bool wants_input, const void *user)
{
    enum amg_handle_state state;

    if (!AMG_CONTRACT(user != NULL && handle->is_served == wants_input))
        return HG_INVALID_ARG;
    state = amg_handle_state(handle);
    /* An origin's output is there once its callback runs. */
    if (!wants_input && !AMG_CONTRACT(state == AMG_HANDLE_DONE))
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

static hg_return_t args_get(struct hg_handle *handle, hg_proc_cb_t proc_cb,
    const struct amg_args *args, void *user)
{
    hg_return_t rc = HG_SUCCESS;

    if (args->data == NULL && handle->is_released) {
        AMG_LOG_ERROR("rpc",
            "the input of RPC id 0x%llx was given back before, by "
            "HG_Release_input_buf() or, with release_input_early, by the first "
            "HG_Get_input()",
            (unsigned long long)handle->info.id);
        return HG_FAULT;
    }
    if (args->data == NULL) {
        AMG_LOG_ERROR("rpc", "the call ended with %s: there are no arguments",
            HG_Error_to_string(handle->ret));
        return HG_FAULT;
    }
    rc = amg_rpc_check(args);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "%llu bytes of arguments of RPC id 0x%llx are not those that were "
            "sent: the checksum is another one; call again, and look after "
            "the memory and the network of both nodes",
            (unsigned long long)args->len, (unsigned long long)handle->info.id);
        return rc;
    }
    atomic_fetch_add_explicit(
        &handle->refs, AMG_HANDLE_GOT, memory_order_relaxed);
    rc = amg_rpc_decode(handle, proc_cb, HG_DECODE, args, user);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("rpc",
            "the proc of RPC id 0x%llx could not decode %llu bytes: %s; do "
            "both sides register the same types?",
            (unsigned long long)handle->info.id, (unsigned long long)args->len,
            HG_Error_to_string(rc));
        (void)amg_handle_let_go(handle, AMG_HANDLE_GOT);
    }
    return rc;
}

/* Frees what one of the functions above made, for the function `call`. */
static hg_return_t args_free(struct hg_handle *handle, const char *call,
    hg_proc_cb_t proc_cb, const struct amg_args *args, void *user)
{
    hg_return_t rc = HG_SUCCESS;

    if (amg_refs_get(&handle->refs) < AMG_HANDLE_GOT) {
        AMG_LOG_ERROR("rpc",
            "%s(): nothing was got from handle %p (RPC id 0x%llx) that is not "
            "freed; look at what HG_Get_input() or HG_Get_output() returned",
            call, (void *)handle, (unsigned long long)handle->info.id);
        return HG_INVALID_ARG;
    }
    rc = amg_rpc_decode(handle, proc_cb, HG_FREE, args, user);
    (void)amg_handle_let_go(handle, AMG_HANDLE_GOT);
    return rc;
}

hg_return_t HG_Get_input(hg_handle_t handle, void *in_struct)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    rc = args_check(handle, true, in_struct);
    if (rc != HG_SUCCESS)
        return rc;
    rc = args_get(handle, handle->rpc->in_proc, &handle->in, in_struct);
    if (rc == HG_SUCCESS && handle->info.hg_class->plan.release_input_early)
        amg_raw_release(handle);
    return rc;
}

hg_return_t HG_Free_input(hg_handle_t handle, void *in_struct)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    rc = args_check(handle, true, in_struct);
    if (rc != HG_SUCCESS)
        return rc;
    return args_free(
        handle, __func__, handle->rpc->in_proc, &handle->in, in_struct);
}

hg_return_t HG_Get_output(hg_handle_t handle, void *out_struct)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    rc = args_check(handle, false, out_struct);
    return rc != HG_SUCCESS ? rc
                            : args_get(handle, handle->rpc->out_proc,
                                  &handle->out, out_struct);
}

hg_return_t HG_Free_output(hg_handle_t handle, void *out_struct)
{
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    /* The target's own output: what the program allocated for it. */
    if (handle->is_served && out_struct != NULL && handle->rpc != NULL &&
        handle->rpc->out_proc != NULL)
        return amg_rpc_decode(
            handle, handle->rpc->out_proc, HG_FREE, &handle->out, out_struct);
    rc = args_check(handle, false, out_struct);
    if (rc != HG_SUCCESS)
        return rc;
    return args_free(
        handle, __func__, handle->rpc->out_proc, &handle->out, out_struct);
}

hg_size_t HG_Get_input_payload_size(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? handle->in.len : 0;
}

hg_size_t HG_Get_output_payload_size(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? handle->out.len : 0;
}
