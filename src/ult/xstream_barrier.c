/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers between execution streams: who waits keeps its stream from all
 * others, asleep, until every stream has come. */
#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/meeting.h"
#include "ult/handle.h"

/* What ABT_xstream_barrier points to; its creator's until it is freed. */
static struct amg_meeting *barrier_of(ABT_xstream_barrier barrier)
{
    return (struct amg_meeting *)(void *)barrier;
}

int ABT_xstream_barrier_create(
    uint32_t num_waiters, ABT_xstream_barrier *newbarrier)
{
    struct amg_meeting *self = NULL;

    amg_handle_clear(newbarrier);
    if (!AMG_CONTRACT(num_waiters > 0 && newbarrier != NULL))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(sizeof(*self));
    if (self == NULL)
        return ABT_ERR_MEM;
    self->cap = num_waiters;
    *newbarrier = (ABT_xstream_barrier)(void *)self;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_free(ABT_xstream_barrier *barrier)
{
    struct amg_meeting *old = NULL;

    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    old = barrier_of(*barrier);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    if (!AMG_CONTRACT(amg_meeting_is_empty(old)))
        return ABT_ERR_XSTREAM_BARRIER;
    amg_mem_free(old);
    *barrier = ABT_XSTREAM_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier)
{
    struct amg_meeting *self = barrier_of(barrier);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    amg_meeting_come(self, true);
    return ABT_SUCCESS;
}
