/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPC that a user-level thread serves, for those that it calls in turn.
 *
 * It is kept under a key of the thread's, as a number in the place of a
 * pointer. The key is made once in a process and not freed. */
#include <stdatomic.h>

#include "base/assert.h"
#include "base/lock.h"
#include "margo.h"

_Static_assert(sizeof(void *) >= sizeof(hg_id_t), "an id fits into a pointer");

static struct {
    struct amg_lock lock; /* guards the making of the key */
    /* Its release store pairs with the acquire load of who uses it. */
    atomic_bool has_key;
    ABT_key key;
} current;

static bool key_make(void)
{
    bool has_key = false;

    if (atomic_load_explicit(&current.has_key, memory_order_acquire))
        return true;
    amg_lock_take(&current.lock);
    has_key = atomic_load_explicit(&current.has_key, memory_order_relaxed) ||
              ABT_key_create(NULL, &current.key) == ABT_SUCCESS;
    atomic_store_explicit(&current.has_key, has_key, memory_order_release);
    amg_lock_give(&current.lock);
    return has_key;
}

hg_return_t margo_set_current_rpc_id(hg_id_t parent_rpc_id)
{
    if (!key_make() || ABT_self_set_specific(current.key,
                           (void *)(uintptr_t)parent_rpc_id) != ABT_SUCCESS)
        return HG_OTHER_ERROR;
    return HG_SUCCESS;
}

hg_return_t margo_get_current_rpc_id(hg_id_t *parent_rpc_id)
{
    void *value = NULL;

    if (!AMG_CONTRACT(parent_rpc_id != NULL))
        return HG_INVALID_ARG;
    if (!key_make() ||
        ABT_self_get_specific(current.key, &value) != ABT_SUCCESS)
        return HG_OTHER_ERROR;
    *parent_rpc_id = (hg_id_t)(uintptr_t)value;
    return HG_SUCCESS;
}
