/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins and ends the runtime of user-level threads for instances. */
#include "margo/runtime.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"

/* What instances that have ended still owe; a counter. */
static atomic_uint owed;
static atomic_bool is_registered; /* with atexit() */

bool amg_margo_runtime_enter(bool *ret_is_first)
{
    bool is_first = ABT_initialized() != ABT_SUCCESS;
    int rc = ABT_init(0, NULL);

    if (rc != ABT_SUCCESS) {
        margo_error(MARGO_INSTANCE_NULL,
            "user-level threads cannot be started: ABT_init() says %d", rc);
        return false;
    }
    if (!atomic_exchange_explicit(&is_registered, true, memory_order_relaxed))
        (void)atexit(amg_margo_runtime_settle);
    *ret_is_first = is_first;
    return true;
}

void amg_margo_runtime_leave(void)
{
    atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
}

void amg_margo_runtime_settle(void)
{
    unsigned count = atomic_load_explicit(&owed, memory_order_relaxed);

    while (count > 0) {
        if (!atomic_compare_exchange_weak_explicit(&owed, &count, count - 1u,
                memory_order_relaxed, memory_order_relaxed))
            continue;
        if (ABT_finalize() != ABT_SUCCESS) {
            /* Not ours to end: the primary thread comes by later. */
            atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
            return;
        }
        count = atomic_load_explicit(&owed, memory_order_relaxed);
    }
}
