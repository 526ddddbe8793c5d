/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the loop of an instance has looked. */
#include "margo-util.h"

#include "margo/instance.h"

uint64_t margo_get_num_progress_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : atomic_load_explicit(
                     &mid->loop.progress_calls, memory_order_relaxed);
}

uint64_t margo_get_num_trigger_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : atomic_load_explicit(
                     &mid->loop.trigger_calls, memory_order_relaxed);
}
