/* SPDX-License-Identifier: BSD-3-Clause */
/* Futures: several values, each set by somebody, and others wait for all.
 *
 * As with an eventual, whoever sees it ready takes the lock before it returns.
 */
#include <stdint.h>

#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/waiters.h"

/* What ABT_future points to; its creator's until it is freed. */
struct future {
    struct amg_lock lock; /* guards all */
    atomic_bool is_ready; /* also read without, as a hint */
    uint32_t count;       /* of values that were set */
    uint32_t cap;
    void (*all_set)(void **values); /* NULL: nobody wants to know */
    struct amg_list waiters;
    void *values[];
};

static struct future *future_of(ABT_future future)
{
    return (struct future *)(void *)future;
}

static bool is_ready(const struct future *self)
{
    return atomic_load_explicit(&self->is_ready, memory_order_relaxed);
}

static void ready_set(struct future *self, bool value)
{
    atomic_store_explicit(&self->is_ready, value, memory_order_relaxed);
}

int ABT_future_create(uint32_t num_compartments, void (*cb_func)(void **arg),
    ABT_future *newfuture)
{
    struct future *self = NULL;

    amg_handle_clear(newfuture);
    if (!AMG_CONTRACT(newfuture != NULL))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(
        sizeof(*self) + (size_t)num_compartments * sizeof(self->values[0]));
    if (self == NULL)
        return ABT_ERR_MEM;
    self->cap = num_compartments;
    self->all_set = cb_func;
    ready_set(self, num_compartments == 0);
    *newfuture = (ABT_future)(void *)self;
    return ABT_SUCCESS;
}

int ABT_future_free(ABT_future *future)
{
    struct future *old = NULL;

    if (!AMG_CONTRACT(future != NULL))
        return ABT_ERR_INV_ARG;
    old = future_of(*future);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_FUTURE;
    if (!AMG_CONTRACT(amg_waiters_have_gone(&old->lock, &old->waiters)))
        return ABT_ERR_FUTURE;
    amg_mem_free(old);
    *future = ABT_FUTURE_NULL;
    return ABT_SUCCESS;
}

int ABT_future_wait(ABT_future future)
{
    struct future *self = future_of(future);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    amg_lock_take(&self->lock);
    if (is_ready(self)) {
        amg_lock_give(&self->lock);
    } else if (AMG_CONTRACT(!amg_waiters_caller_is_task())) {
        amg_waiters_wait(&self->waiters, &self->lock);
    } else {
        amg_lock_give(&self->lock);
        return ABT_ERR_FUTURE;
    }
    return ABT_SUCCESS;
}

int ABT_future_test(ABT_future future, ABT_bool *ready)
{
    struct future *self = future_of(future);
    bool is_set = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    if (!AMG_CONTRACT(ready != NULL))
        return ABT_ERR_INV_ARG;
    if (is_ready(self)) {
        amg_lock_take(&self->lock);
        is_set = is_ready(self);
        amg_lock_give(&self->lock);
    }
    *ready = is_set ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

/* All values are there: the program's function runs first, with no lock. */
static void future_complete(struct future *self)
{
    struct amg_waiters_taken taken;

    if (self->all_set != NULL)
        self->all_set(self->values);
    amg_lock_take(&self->lock);
    ready_set(self, true);
    taken = amg_waiters_take_all(&self->waiters);
    amg_lock_give(&self->lock);
    amg_waiters_wake(taken);
}

int ABT_future_set(ABT_future future, void *value)
{
    struct future *self = future_of(future);
    bool has_place = false;
    bool is_last = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    amg_lock_take(&self->lock);
    has_place = self->count < self->cap;
    if (has_place)
        self->values[self->count++] = value;
    is_last = has_place && self->count == self->cap;
    amg_lock_give(&self->lock);
    if (!AMG_CONTRACT(has_place))
        return ABT_ERR_FUTURE;
    if (is_last)
        future_complete(self);
    return ABT_SUCCESS;
}

int ABT_future_reset(ABT_future future)
{
    struct future *self = future_of(future);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    amg_lock_take(&self->lock);
    self->count = 0;
    ready_set(self, self->cap == 0);
    amg_lock_give(&self->lock);
    return ABT_SUCCESS;
}
