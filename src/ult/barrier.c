/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: who comes waits until as many have come as it is for. */
#include <stdint.h>

#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/waiters.h"

/* What ABT_barrier points to; its creator's until it is freed. The lock guards
 * all. Those who wait do not touch it when they were unparked. */
struct barrier {
    struct amg_lock lock;
    uint32_t cap;   /* how many meet */
    uint32_t count; /* how many have come */
    struct amg_list waiters;
};

static struct barrier *barrier_of(ABT_barrier barrier)
{
    return (struct barrier *)(void *)barrier;
}

int ABT_barrier_create(uint32_t num_waiters, ABT_barrier *newbarrier)
{
    struct barrier *self = NULL;

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
    struct barrier *self = barrier_of(barrier);
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
    struct barrier *old = NULL;
    bool is_empty = false;

    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    old = barrier_of(*barrier);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_BARRIER;
    /* The lock also waits for the last one that came to leave. */
    amg_lock_take(&old->lock);
    is_empty = old->count == 0;
    amg_lock_give(&old->lock);
    if (!AMG_CONTRACT(is_empty))
        return ABT_ERR_BARRIER;
    amg_mem_free(old);
    *barrier = ABT_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_barrier_wait(ABT_barrier barrier)
{
    struct barrier *self = barrier_of(barrier);
    struct amg_waiters_taken taken;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(!amg_waiters_caller_is_task()))
        return ABT_ERR_BARRIER;
    amg_lock_take(&self->lock);
    if (self->count + 1 < self->cap) {
        self->count++;
        amg_waiters_wait(&self->waiters, &self->lock);
        return ABT_SUCCESS;
    }
    self->count = 0;
    taken = amg_waiters_take_all(&self->waiters);
    amg_lock_give(&self->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}

int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t *num_waiters)
{
    struct barrier *self = barrier_of(barrier);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters != NULL))
        return ABT_ERR_INV_ARG;
    amg_lock_take(&self->lock);
    *num_waiters = self->cap;
    amg_lock_give(&self->lock);
    return ABT_SUCCESS;
}
