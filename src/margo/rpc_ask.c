/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program asks of an RPC that is registered, and keeps with it. */
#include "base/assert.h"
#include "margo/instance.h"

/* Of an instance that has a class still. */
static struct amg_margo_rpc *rpc_find(margo_instance_id mid, hg_id_t id)
{
    return mid == MARGO_INSTANCE_NULL || mid->hg_class == NULL
               ? NULL
               : amg_margo_rpc_find(mid, id);
}

hg_return_t margo_registered_name(
    margo_instance_id mid, const char *func_name, hg_id_t *id, hg_bool_t *flag)
{
    return margo_provider_registered_name(
        mid, func_name, MARGO_DEFAULT_PROVIDER_ID, id, flag);
}

hg_return_t margo_provider_registered_name(margo_instance_id mid,
    const char *func_name, uint16_t provider_id, hg_id_t *id, hg_bool_t *flag)
{
    hg_id_t wanted = 0;

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && func_name != NULL &&
                      id != NULL && flag != NULL))
        return HG_INVALID_ARG;
    wanted = amg_margo_rpc_id(func_name, provider_id);
    *flag = rpc_find(mid, wanted) != NULL;
    if (*flag)
        *id = wanted;
    return HG_SUCCESS;
}

hg_return_t margo_register_data(margo_instance_id mid, hg_id_t id, void *data,
    void (*free_callback)(void *))
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);
    void (*old_free)(void *) = NULL;
    void *old = NULL;

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_OTHER_ERROR;
    old = rpc->data;
    old_free = rpc->data_free;
    rpc->data = data;
    rpc->data_free = free_callback;
    if (old_free != NULL && old != data)
        old_free(old);
    return HG_SUCCESS;
}

void *margo_registered_data(margo_instance_id mid, hg_id_t id)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    return rpc == NULL ? NULL : rpc->data;
}

hg_return_t margo_registered_disable_response(
    margo_instance_id mid, hg_id_t id, int disable_flag)
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    rpc->has_no_response = disable_flag != 0;
    return HG_Registered_disable_response(mid->hg_class, id, disable_flag != 0);
}

hg_return_t margo_registered_disabled_response(
    margo_instance_id mid, hg_id_t id, int *disabled_flag)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && disabled_flag != NULL))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    *disabled_flag = rpc->has_no_response;
    return HG_SUCCESS;
}

const char *margo_rpc_get_name(margo_instance_id mid, hg_id_t id)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    return rpc == NULL ? NULL : rpc->name;
}

const char *margo_handle_get_name(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);

    if (data != NULL && data->rpc != NULL && data->rpc->id == info->id)
        return data->rpc->name;
    return info == NULL ? NULL
                        : margo_rpc_get_name(
                              margo_hg_handle_get_instance(handle), info->id);
}

hg_return_t margo_rpc_get_pool(
    margo_instance_id mid, hg_id_t id, ABT_pool *pool)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && pool != NULL))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    *pool = rpc->pool;
    return HG_SUCCESS;
}

hg_return_t margo_rpc_set_pool(margo_instance_id mid, hg_id_t id, ABT_pool pool)
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);
    ABT_pool old = ABT_POOL_NULL;

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    old = rpc->pool;
    rpc->pool = pool == ABT_POOL_NULL ? mid->pools.rpc_pool : pool;
    amg_margo_pools_retain(mid, rpc->pool);
    amg_margo_pools_release(mid, old);
    return HG_SUCCESS;
}
