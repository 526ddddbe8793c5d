/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls between a program of Mercury's API alone and one of Margo's. */
#include "margo-hg-shim.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "margo/proc.h"
#include "margo/rpc.h"

/* Says that registered data are ours: an instance of Margo in the same class
 * keeps others. */
static const char shim_mark;

/* HG_Registered_data() of an id that was registered here. */
struct shim {
    const char *mark;
    hg_proc_cb_t in_proc;
    hg_proc_cb_t out_proc;
};

hg_id_t HG_Register_name_for_margo(hg_class_t *hg_class, const char *func_name,
    uint16_t provider_id, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
    hg_rpc_cb_t rpc_cb)
{
    struct shim *shim = NULL;
    hg_id_t id = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(hg_class != NULL && func_name != NULL))
        return 0;
    id = amg_margo_rpc_id(func_name, provider_id);
    shim = amg_mem_zalloc(sizeof(*shim));
    if (shim == NULL)
        return 0;
    shim->mark = &shim_mark;
    shim->in_proc = in_proc_cb;
    shim->out_proc = out_proc_cb;
    rc = HG_Register(
        hg_class, id, amg_margo_proc_input, amg_margo_proc_output, rpc_cb);
    if (rc != HG_SUCCESS)
        goto free_shim;
    rc = HG_Register_data(hg_class, id, shim, amg_mem_free);
    if (rc != HG_SUCCESS)
        goto deregister;
    return id;

deregister:
    (void)HG_Deregister(hg_class, id);
free_shim:
    amg_mem_free(shim);
    AMG_LOG_ERROR("rpc", "RPC \"%s\" of provider %u is not registered: %s",
        func_name, (unsigned)provider_id, HG_Error_to_string(rc));
    return 0;
}

/* What was registered for the handle's id, for a struct of the program's. */
static hg_return_t args_prepare(
    hg_handle_t handle, bool is_input, void *user, struct amg_margo_args *args)
{
    const struct hg_info *info = HG_Get_info(handle);
    const struct shim *shim = NULL;

    if (!AMG_CONTRACT(info != NULL))
        return HG_INVALID_ARG;
    shim = HG_Registered_data(info->hg_class, info->id);
    if (shim == NULL || shim->mark != &shim_mark) {
        AMG_LOG_ERROR("rpc",
            "RPC id 0x%llx was not registered by HG_Register_name_for_margo()",
            (unsigned long long)info->id);
        return HG_NO_MATCH;
    }
    args->proc = is_input ? shim->in_proc : shim->out_proc;
    args->user = user;
    if (user == NULL || args->proc != NULL)
        return HG_SUCCESS;
    AMG_LOG_ERROR("rpc", "RPC id 0x%llx is registered without an %s",
        (unsigned long long)info->id, is_input ? "input" : "output");
    return HG_NO_MATCH;
}

hg_return_t HG_Forward_to_margo(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, true, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Forward(handle, callback, arg,
                                  in_struct == NULL ? NULL : &args)
                            : rc;
}

hg_return_t HG_Respond_to_margo(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, false, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Respond(handle, callback, arg,
                                  out_struct == NULL ? NULL : &args)
                            : rc;
}

hg_return_t HG_Get_input_from_margo(hg_handle_t handle, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, true, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Get_input(handle, &args) : rc;
}

hg_return_t HG_Free_input_from_margo(hg_handle_t handle, void *in_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, true, in_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_input(handle, &args) : rc;
}

hg_return_t HG_Get_output_from_margo(hg_handle_t handle, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, false, out_struct, &args);

    if (rc == HG_SUCCESS)
        rc = HG_Get_output(handle, &args);
    if (rc != HG_SUCCESS || args.code == HG_SUCCESS)
        return rc;
    args.user = NULL;
    (void)HG_Free_output(handle, &args);
    return args.code;
}

hg_return_t HG_Free_output_from_margo(hg_handle_t handle, void *out_struct)
{
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = args_prepare(handle, false, out_struct, &args);

    return rc == HG_SUCCESS ? HG_Free_output(handle, &args) : rc;
}
