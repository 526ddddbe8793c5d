/* SPDX-License-Identifier: BSD-3-Clause */
/* What drives a context: progress, and the callbacks that are due. */
#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"
#include "core/context.h"
#include "core/progress.h"
#include "mercury_context.h"

hg_return_t HG_Progress(hg_context_t *context, unsigned int timeout)
{
    if (!AMG_CONTEXT_OK(context))
        return HG_INVALID_ARG;
    return amg_progress_wait(context, timeout);
}

/* Runs up to `max_count` callbacks; how many there were. */
static unsigned entries_run(hg_context_t *context, unsigned max_count)
{
    unsigned count = 0;

    while (count < max_count) {
        struct amg_cq_entry *entry = amg_context_take_due(context);

        if (entry == NULL)
            break;
        amg_context_run(entry);
        count++;
    }
    return count;
}

/* The same, once there are some. */
AMG_APART static unsigned entries_await(
    hg_context_t *context, unsigned max_count, unsigned timeout_ms)
{
    struct amg_cq *cq = amg_role.is_ours ? &context->served : &context->cq;
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    unsigned count = 0;

    for (;;) {
        /* First this: what is queued apart is told by a wake alone. */
        unsigned epoch = amg_cq_epoch(cq);

        count = entries_run(context, max_count);
        if (count > 0 || amg_clock_ns() >= deadline_ns)
            return count;
        amg_cq_sleep(cq, epoch, deadline_ns);
    }
}

hg_return_t HG_Trigger(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count)
{
    unsigned count = 0;

    if (!AMG_CONTEXT_OK(context))
        return HG_INVALID_ARG;
    amg_context_drive(context);
    count = entries_run(context, max_count);
    if (count == 0 && max_count > 0 && timeout > 0)
        count = entries_await(context, max_count, timeout);
    if (actual_count != NULL)
        *actual_count = count;
    return count > 0 || max_count == 0 ? HG_SUCCESS : HG_TIMEOUT;
}

int HG_Event_get_wait_fd(const hg_context_t *context)
{
    if (!AMG_CONTEXT_OK(context))
        return -1;
    if (context->sleep.is_blind || context->cls->plan.no_block)
        return -1;
    /* Made when first asked for, by which nothing changes for the user. */
    return amg_sleep_fd((hg_context_t *)context, AMG_CQ_LOOP);
}

bool HG_Event_ready(hg_context_t *context)
{
    if (!AMG_CONTEXT_OK(context))
        return false;
    return amg_progress_is_due(context);
}

hg_return_t HG_Event_progress(hg_context_t *context, unsigned int *count_p)
{
    if (!AMG_CONTEXT_OK(context))
        return HG_INVALID_ARG;
    if (amg_cq_is_armed(&context->cq, AMG_CQ_LOOP))
        amg_cq_disarm(&context->cq, AMG_CQ_LOOP);
    amg_progress_wait(context, 0);
    if (count_p != NULL)
        *count_p =
            atomic_load_explicit(&context->cq.count, memory_order_acquire);
    return HG_SUCCESS;
}

hg_return_t HG_Event_trigger(
    hg_context_t *context, unsigned int max_count, unsigned int *actual_count)
{
    unsigned count = 0;

    if (!AMG_CONTEXT_OK(context))
        return HG_INVALID_ARG;
    count = entries_run(context, max_count);
    if (actual_count != NULL)
        *actual_count = count;
    return HG_SUCCESS;
}

hg_class_t *HG_Context_get_class(const hg_context_t *context)
{
    return AMG_CONTEXT_OK(context) ? context->cls : NULL;
}

uint8_t HG_Context_get_id(const hg_context_t *context)
{
    return AMG_CONTEXT_OK(context) ? context->id : 0;
}

hg_return_t HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *))
{
    if (!AMG_CONTEXT_OK(context))
        return HG_INVALID_ARG;
    context->data = data;
    context->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Context_get_data(const hg_context_t *context)
{
    return AMG_CONTEXT_OK(context) ? context->data : NULL;
}
