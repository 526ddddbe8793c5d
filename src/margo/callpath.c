/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPC that a user-level thread serves, for those that it calls in turn.
 *
 * Each instance has a key of its own, under which a thread keeps the id as a
 * number in the place of a pointer: calls of one instance are not told to be
 * made by a handler of another. */
#include "base/assert.h"
#include "margo/instance.h"

_Static_assert(sizeof(void *) >= sizeof(hg_id_t), "an id fits into a pointer");

hg_return_t margo_set_current_rpc_id(
    margo_instance_id mid, hg_id_t parent_rpc_id)
{
    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_set_specific(mid->monitoring.current_rpc,
            (void *)(uintptr_t)parent_rpc_id) != ABT_SUCCESS)
        return HG_OTHER_ERROR;
    return HG_SUCCESS;
}

hg_return_t margo_get_current_rpc_id(
    margo_instance_id mid, hg_id_t *parent_rpc_id)
{
    void *value = NULL;

    if (!AMG_CONTRACT(mid != MARGO_INSTANCE_NULL && parent_rpc_id != NULL))
        return HG_INVALID_ARG;
    if (mid->monitoring.current_rpc == ABT_KEY_NULL ||
        ABT_self_get_specific(mid->monitoring.current_rpc, &value) !=
            ABT_SUCCESS)
        return HG_OTHER_ERROR;
    *parent_rpc_id = (hg_id_t)(uintptr_t)value;
    return HG_SUCCESS;
}
