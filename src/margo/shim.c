/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls between a program of Mercury's API alone and one of Margo's. */
#include "margo-hg-shim.h"

#include "base/assert.h"
#include "base/log.h"
#include "margo/proc.h"
#include "margo/rpc.h"

hg_id_t HG_Register_name_for_margo(
    hg_class_t *hg_class, const char *func_name, hg_rpc_cb_t rpc_cb)
{
    hg_id_t id = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL && func_name != NULL))
        return 0;
    id = amg_margo_rpc_id(func_name, MARGO_DEFAULT_PROVIDER_ID);
    rc = HG_Register(
        hg_class, id, amg_margo_proc_input, amg_margo_proc_output, rpc_cb);
    if (rc == HG_SUCCESS)
        return id;
    AMG_LOG_ERROR("rpc", "RPC \"%s\" is not registered: %s", func_name,
        HG_Error_to_string(rc));
    return 0;
}

/* The program's struct and proc, for what was registered for the handle's id:
 * another proc than ours would take the arguments for a struct. */
static hg_return_t args_prepare(hg_handle_t handle, hg_proc_cb_t proc,
    void *user, struct amg_margo_args *args)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_proc_cb_t in_proc = NULL;
    hg_proc_cb_t out_proc = NULL;
    hg_bool_t is_there = HG_FALSE;

    if (!AMG_CONTRACT(info != NULL && (user == NULL || proc != NULL)))
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
    hg_return_t rc = args_prepare(handle, in_proc_cb, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Forward(handle, callback, arg,
                                  in_struct == NULL ? NULL : &args)
                            : rc;
}

hg_return_t HG_Respond_to_margo(hg_handle_t handle, hg_cb_t callback, void *arg,
    hg_proc_cb_t out_proc_cb, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, out_proc_cb, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Respond(handle, callback, arg,
                                  out_struct == NULL ? NULL : &args)
                            : rc;
}

hg_return_t HG_Get_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, in_proc_cb, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Get_input(handle, &args) : rc;
}

hg_return_t HG_Free_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, in_proc_cb, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_input(handle, &args) : rc;
}

hg_return_t HG_Get_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, out_proc_cb, out_struct, &args);

    if (rc == HG_SUCCESS)
        rc = HG_Get_output(handle, &args);
    if (rc != HG_SUCCESS || args.code == HG_SUCCESS)
        return rc;
    args.user = NULL;
    (void)HG_Free_output(handle, &args);
    return args.code;
}

hg_return_t HG_Free_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, out_proc_cb, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_output(handle, &args) : rc;
}
