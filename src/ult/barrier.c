/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: who comes waits until as many have come as it is for. */
#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/meeting.h"

/* What ABT_barrier points to; its creator's until it is freed. */
static struct amg_meeting *barrier_of(ABT_barrier barrier)
{
    return (struct amg_meeting *)(void *)barrier;
}

int ABT_barrier_create(uint32_t num_waiters, ABT_barrier *newbarrier)
{
    struct amg_meeting *self = NULL;

    amg_handle_clear(newbarrier);
    if (!AMG_CONTRACT(num_waiters > 0 && newbarrier != NULL))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(sizeof(*self));
    if (self == NULL)
        return ABT_ERR_MEM;
    self->cap = num_waiters;
    *newbarrier = (ABT_barrier)(void *)self;
    return ABT_SUCCESS;
}

int ABT_barrier_reinit(ABT_barrier barrier, uint32_t num_waiters)
{
    struct amg_meeting *self = barrier_of(barrier);
    bool is_empty = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters > 0))
        return ABT_ERR_INV_ARG;
    amg_lock_take(&self->lock);
    is_empty = self->count == 0;
    if (is_empty)
        self->cap = num_waiters;
    amg_lock_give(&self->lock);
    return AMG_CONTRACT(is_empty) ? ABT_SUCCESS : ABT_ERR_BARRIER;
}

int ABT_barrier_free(ABT_barrier *barrier)
{
    struct amg_meeting *old = NULL;

    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    old = barrier_of(*barrier);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(amg_meeting_is_empty(old)))
        return ABT_ERR_BARRIER;
    amg_mem_free(old);
    *barrier = ABT_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_barrier_wait(ABT_barrier barrier)
{
    struct amg_meeting *self = barrier_of(barrier);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(!amg_waiters_caller_is_task()))
        return ABT_ERR_BARRIER;
    amg_meeting_come(self, false);
    return ABT_SUCCESS;
}

int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t *num_waiters)
{
    struct amg_meeting *self = barrier_of(barrier);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters != NULL))
        return ABT_ERR_INV_ARG;
    amg_lock_take(&self->lock);
    *num_waiters = self->cap;
    amg_lock_give(&self->lock);
    return ABT_SUCCESS;
}
