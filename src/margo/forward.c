/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls, in all forms: they differ in the form's members alone. */
#include "base/assert.h"
#include "margo/call.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury.h"

/* The low bits of an RPC's id. */
#define PROVIDER_MASK ((hg_id_t)MARGO_MAX_PROVIDER_ID)

/* The RPC of the handle, aimed at another provider; registered here for it when
 * it is not. */
static hg_return_t provider_aim(struct amg_margo_handle *data, hg_id_t id)
{
    margo_instance_id mid = data->mid;
    const struct amg_margo_rpc *from = amg_margo_handle_rpc(data);
    hg_return_t rc = HG_SUCCESS;

    if (amg_margo_rpc_find(mid, id) == NULL) {
        if (from == NULL)
            return HG_OTHER_ERROR;
        if (margo_provider_register_name(mid, from->name, from->in_proc,
                from->out_proc, NULL, (uint16_t)(id & PROVIDER_MASK),
                ABT_POOL_NULL) == 0)
            return HG_NOMEM;
        if (from->has_no_response) {
            rc = margo_registered_disable_response(mid, id, 1);
            if (rc != HG_SUCCESS)
                return rc;
        }
    }
    rc = HG_Reset(data->handle, HG_ADDR_NULL, id);
    if (rc == HG_SUCCESS)
        data->rpc = amg_margo_rpc_of(mid, id);
    return rc;
}

/* Aims the handle at the provider, and finds how its input is encoded. */
static hg_return_t input_prepare(struct amg_margo_handle *data,
    uint16_t provider_id, void *in_struct, struct amg_margo_args *args)
{
    const struct hg_info *info = HG_Get_info(data->handle);
    hg_id_t id = provider_id == MARGO_DEFAULT_PROVIDER_ID
                     ? info->id
                     : (info->id & ~PROVIDER_MASK) | provider_id;
    const struct amg_margo_rpc *rpc = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (id != info->id)
        rc = provider_aim(data, id);
    if (rc != HG_SUCCESS || in_struct == NULL)
        return rc;
    rpc = amg_margo_handle_rpc(data);
    if (rpc == NULL)
        return HG_OTHER_ERROR;
    if (rpc->in_proc == NULL) {
        margo_error(data->mid,
            "RPC \"%s\" was given an input, and is registered without one",
            rpc->name);
        return HG_NO_MATCH;
    }
    args->proc = rpc->in_proc;
    args->user = in_struct;
    return HG_SUCCESS;
}

static hg_return_t forward(uint16_t provider_id, hg_handle_t handle,
    void *in_struct, const struct amg_margo_form *form)
{
    struct amg_margo_handle *data = NULL;
    struct amg_margo_args args = {.proc = NULL};
    hg_return_t rc = HG_SUCCESS;

    if (!amg_margo_handle_is_there(handle, "margo_forward"))
        return HG_INVALID_ARG;
    data = amg_margo_handle_find(handle);
    if (!AMG_CONTRACT(data != NULL && data->mid != MARGO_INSTANCE_NULL &&
                      !data->is_served))
        return HG_INVALID_ARG;
    rc = input_prepare(data, provider_id, in_struct, &args);
    if (rc != HG_SUCCESS)
        return rc;
    if (AMG_MARGO_HAS_MONITOR(data->mid))
        (void)margo_get_current_rpc_id(data->mid, &args.parent_id);
    return amg_margo_call(data, form, MARGO_FORWARD_REQUEST, HG_Forward, &args);
}

hg_return_t margo_provider_forward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true};

    return forward(provider_id, handle, in_struct, &form);
}

hg_return_t margo_provider_iforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .ret_req = req};

    if (!AMG_CONTRACT(req != NULL))
        return HG_INVALID_ARG;
    return forward(provider_id, handle, in_struct, &form);
}

hg_return_t margo_provider_cforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .callback = on_complete, .arg = uargs};

    if (!AMG_CONTRACT(on_complete != NULL))
        return HG_INVALID_ARG;
    return forward(provider_id, handle, in_struct, &form);
}
