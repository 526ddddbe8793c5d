/* SPDX-License-Identifier: BSD-3-Clause */
/* What a handle knows besides its call: the program's data, its instance. */
#include "base/assert.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/request.h"
#include "margo/rpc.h"
#include "mercury.h"

hg_return_t margo_set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *))
{
    struct amg_margo_handle *kept = NULL;

    if (!AMG_CONTRACT(handle != HG_HANDLE_NULL))
        return HG_INVALID_ARG;
    kept = amg_margo_handle_of(handle);
    if (kept == NULL)
        return HG_NOMEM;
    if (kept->user_free != NULL && kept->user_data != data)
        kept->user_free(kept->user_data);
    kept->user_data = data;
    kept->user_free = free_callback;
    return HG_SUCCESS;
}

void *margo_get_data(hg_handle_t handle)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    return kept == NULL ? NULL : kept->user_data;
}

/* The instance that registered the RPC, for handles that it did not make. */
static margo_instance_id info_instance(const struct hg_info *info)
{
    const struct amg_margo_rpc *rpc =
        info == NULL || info->id == 0
            ? NULL
            : HG_Registered_data(info->hg_class, info->id);

    return rpc == NULL ? MARGO_INSTANCE_NULL : rpc->mid;
}

margo_instance_id margo_hg_handle_get_instance(hg_handle_t h)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(h);

    if (kept != NULL && kept->mid != MARGO_INSTANCE_NULL)
        return kept->mid;
    return h == HG_HANDLE_NULL ? MARGO_INSTANCE_NULL
                               : info_instance(HG_Get_info(h));
}

margo_instance_id margo_hg_info_get_instance(const struct hg_info *info)
{
    return info_instance(info);
}

ABT_pool margo_hg_handle_get_handler_pool(hg_handle_t h)
{
    margo_instance_id mid = margo_hg_handle_get_instance(h);
    const struct amg_margo_rpc *rpc =
        mid == MARGO_INSTANCE_NULL
            ? NULL
            : amg_margo_rpc_find(mid, HG_Get_info(h)->id);
    ABT_pool pool = ABT_POOL_NULL;

    if (rpc != NULL && rpc->pool != ABT_POOL_NULL)
        return rpc->pool;
    if (mid != MARGO_INSTANCE_NULL)
        (void)margo_get_handler_pool(mid, &pool);
    return pool;
}

hg_handle_t margo_request_get_handle(margo_request req)
{
    return AMG_CONTRACT(req != MARGO_REQUEST_NULL)
               ? amg_margo_request_of(req)->handle
               : HG_HANDLE_NULL;
}

margo_request_type margo_request_get_type(margo_request req)
{
    return AMG_CONTRACT(req != MARGO_REQUEST_NULL)
               ? amg_margo_request_of(req)->type
               : MARGO_INVALID_REQUEST;
}

margo_instance_id margo_request_get_instance(margo_request req)
{
    return AMG_CONTRACT(req != MARGO_REQUEST_NULL)
               ? amg_margo_request_of(req)->mid
               : MARGO_INSTANCE_NULL;
}
