/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers between execution streams: who waits keeps its stream from all
 * others, asleep, until every stream has come. */
#include <stdint.h>

#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/waiters.h"

/* What ABT_xstream_barrier points to; its creator's until it is freed. The lock
 * guards all. */
struct xstream_barrier {
    struct amg_lock lock;
    uint32_t cap;   /* how many meet */
    uint32_t count; /* how many have come */
    struct amg_list waiters;
};

static struct xstream_barrier *barrier_of(ABT_xstream_barrier barrier)
{
    return (struct xstream_barrier *)(void *)barrier;
}

int ABT_xstream_barrier_create(
    uint32_t num_waiters, ABT_xstream_barrier *newbarrier)
{
    struct xstream_barrier *self = NULL;

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
    struct xstream_barrier *old = NULL;
    bool is_empty = false;

    if (!AMG_CONTRACT(barrier != NULL))
        return ABT_ERR_INV_ARG;
    old = barrier_of(*barrier);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    amg_lock_take(&old->lock);
    is_empty = old->count == 0;
    amg_lock_give(&old->lock);
    if (!AMG_CONTRACT(is_empty))
        return ABT_ERR_XSTREAM_BARRIER;
    amg_mem_free(old);
    *barrier = ABT_XSTREAM_BARRIER_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier)
{
    struct xstream_barrier *self = barrier_of(barrier);
    struct amg_waiters_taken taken;
    struct amg_waiter waiter;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    amg_lock_take(&self->lock);
    if (self->count + 1 < self->cap) {
        self->count++;
        amg_waiter_init(&waiter);
        waiter.ult = NULL; /* the whole OS thread sleeps */
        amg_waiters_push(&self->waiters, &waiter);
        amg_park(&waiter, &self->lock);
        return ABT_SUCCESS;
    }
    self->count = 0;
    taken = amg_waiters_take_all(&self->waiters);
    amg_lock_give(&self->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}
