/* SPDX-License-Identifier: BSD-3-Clause */
/* Named places in the code where a test may stop a thread. */
#include "base/test_point.h"

#include <stdatomic.h>
#include <stddef.h>

/* Release store by the test that sets it, acquire load by the thread that calls
 * it. */
static _Atomic(amg_test_point_fn) hook;

void amg_test_point_set(amg_test_point_fn fn)
{
    atomic_store_explicit(&hook, fn, memory_order_release);
}

void amg_test_point_reach(const char *name)
{
    amg_test_point_fn fn = atomic_load_explicit(&hook, memory_order_acquire);

    if (fn != NULL)
        fn(name);
}
