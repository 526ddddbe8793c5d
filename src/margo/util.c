/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the loops of an instance have looked. */
#include "margo-util.h"

#include "margo/instance.h"

static uint64_t calls(const _Atomic(uint64_t) *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

uint64_t margo_get_num_progress_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : calls(&mid->loop.counts.progress_calls) +
                     calls(&mid->deputy.counts.progress_calls);
}

uint64_t margo_get_num_trigger_calls(margo_instance_id mid)
{
    return mid == MARGO_INSTANCE_NULL
               ? 0
               : calls(&mid->loop.counts.trigger_calls) +
                     calls(&mid->deputy.counts.trigger_calls);
}
