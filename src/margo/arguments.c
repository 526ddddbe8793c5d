/* SPDX-License-Identifier: BSD-3-Clause */
/* The input and the output of a call, as its handle gives them. */
#include "base/assert.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/proc.h"
#include "margo/rpc.h"
#include "mercury.h"

/* How the program's struct is coded. */
static hg_return_t args_prepare(
    hg_handle_t handle, bool is_input, void *user, struct amg_margo_args *args)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);
    margo_instance_id mid = margo_hg_handle_get_instance(handle);
    const struct amg_margo_rpc *rpc = NULL;

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
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

static hg_return_t input_get(hg_handle_t handle, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, true, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Get_input(handle, &args) : rc;
}

static hg_return_t input_free(hg_handle_t handle, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, true, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_input(handle, &args) : rc;
}

static hg_return_t output_get(hg_handle_t handle, void *out_struct)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, false, out_struct, &args);

    if (rc != HG_SUCCESS)
        return rc;
    if (data != NULL && data->ret != HG_SUCCESS)
        return data->ret; /* as the call itself said */
    rc = HG_Get_output(handle, &args);
    if (rc != HG_SUCCESS || args.code == HG_SUCCESS)
        return rc;
    args.user = NULL;
    (void)HG_Free_output(handle, &args);
    return args.code;
}

static hg_return_t output_free(hg_handle_t handle, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, false, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_output(handle, &args) : rc;
}

/* The instance whose monitor is to be told, or NULL. */
static margo_instance_id watched(hg_handle_t handle)
{
    margo_instance_id mid = margo_hg_handle_get_instance(handle);

    return mid != MARGO_INSTANCE_NULL && AMG_MARGO_IS_WATCHED(mid)
               ? mid
               : MARGO_INSTANCE_NULL;
}

hg_return_t margo_get_input(hg_handle_t handle, void *in_struct)
{
    struct margo_monitor_get_input_args told = {
        .handle = handle, .data = in_struct};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    mid = watched(handle);
    if (mid == MARGO_INSTANCE_NULL)
        return input_get(handle, in_struct);
    AMG_MARGO_TELL(mid, get_input, MARGO_MONITOR_FN_START, &told);
    told.ret = input_get(handle, in_struct);
    AMG_MARGO_TELL(mid, get_input, MARGO_MONITOR_FN_END, &told);
    return told.ret;
}

hg_return_t margo_free_input(hg_handle_t handle, void *in_struct)
{
    struct margo_monitor_free_input_args told = {
        .handle = handle, .data = in_struct};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    mid = watched(handle);
    if (mid == MARGO_INSTANCE_NULL)
        return input_free(handle, in_struct);
    AMG_MARGO_TELL(mid, free_input, MARGO_MONITOR_FN_START, &told);
    told.ret = input_free(handle, in_struct);
    AMG_MARGO_TELL(mid, free_input, MARGO_MONITOR_FN_END, &told);
    return told.ret;
}

hg_return_t margo_get_output(hg_handle_t handle, void *out_struct)
{
    struct margo_monitor_get_output_args told = {
        .handle = handle, .data = out_struct};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    mid = watched(handle);
    if (mid == MARGO_INSTANCE_NULL)
        return output_get(handle, out_struct);
    AMG_MARGO_TELL(mid, get_output, MARGO_MONITOR_FN_START, &told);
    told.ret = output_get(handle, out_struct);
    AMG_MARGO_TELL(mid, get_output, MARGO_MONITOR_FN_END, &told);
    return told.ret;
}

hg_return_t margo_free_output(hg_handle_t handle, void *out_struct)
{
    struct margo_monitor_free_output_args told = {
        .handle = handle, .data = out_struct};
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    mid = watched(handle);
    if (mid == MARGO_INSTANCE_NULL)
        return output_free(handle, out_struct);
    AMG_MARGO_TELL(mid, free_output, MARGO_MONITOR_FN_START, &told);
    told.ret = output_free(handle, out_struct);
    AMG_MARGO_TELL(mid, free_output, MARGO_MONITOR_FN_END, &told);
    return told.ret;
}
