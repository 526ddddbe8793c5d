/* SPDX-License-Identifier: BSD-3-Clause */
/* Eventuals: something that one sets, with some bytes or none, and others wait
 * for.
 *
 * An eventual may be freed by the first one that saw it ready. So whoever sees
 * that takes the lock before it returns: then the setter has left. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ult/handle.h"
#include "ult/waiters.h"

/* What ABT_eventual points to; zeros make one without memory. Owned by who
 * created it, or by the program whose memory it lies in. */
struct eventual {
    uint64_t kind;        /* 0; there is one only */
    struct amg_lock lock; /* guards all */
    atomic_bool is_ready; /* also read without, as a hint */
    struct amg_list waiters;
    int64_t value_cap;
    uint64_t unused;
    uint64_t value[];
};

_Static_assert(offsetof(struct eventual, value) % 16 == 0,
    "a value lies on the boundary that memory of the heap has");

_Static_assert(sizeof(struct eventual) <= sizeof(ABT_eventual_memory),
    "an eventual fits into the memory that abt.h gives it");

static struct eventual *eventual_of(ABT_eventual eventual)
{
    return (struct eventual *)(void *)eventual;
}

static bool is_ready(const struct eventual *self)
{
    return atomic_load_explicit(&self->is_ready, memory_order_relaxed);
}

static void ready_set(struct eventual *self, bool value)
{
    atomic_store_explicit(&self->is_ready, value, memory_order_relaxed);
}

static void *value_of(struct eventual *self)
{
    return self->value_cap > 0 ? self->value : NULL;
}

int ABT_eventual_create(int nbytes, ABT_eventual *neweventual)
{
    struct eventual *self = NULL;

    amg_handle_clear(neweventual);
    if (!AMG_CONTRACT(nbytes >= 0 && neweventual != NULL))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(sizeof(*self) + (size_t)nbytes);
    if (self == NULL)
        return ABT_ERR_MEM;
    self->value_cap = nbytes;
    *neweventual = (ABT_eventual)(void *)self;
    return ABT_SUCCESS;
}

int ABT_eventual_free(ABT_eventual *eventual)
{
    struct eventual *old = NULL;

    if (!AMG_CONTRACT(eventual != NULL))
        return ABT_ERR_INV_ARG;
    old = eventual_of(*eventual);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_EVENTUAL;
    if (!AMG_CONTRACT(amg_waiters_have_gone(&old->lock, &old->waiters)))
        return ABT_ERR_EVENTUAL;
    amg_mem_free(old);
    *eventual = ABT_EVENTUAL_NULL;
    return ABT_SUCCESS;
}

/* With the lock held, which is given. False: the moment has come first. */
static bool eventual_sleep(struct eventual *self, uint64_t deadline_ns)
{
    struct amg_waiter waiter;

    amg_waiter_init(&waiter);
    amg_waiters_push(&self->waiters, &waiter);
    return amg_park_until(&waiter, &self->lock, deadline_ns);
}

static int eventual_wait(
    struct eventual *self, void **value, uint64_t deadline_ns)
{
    void *ready_value = NULL;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_EVENTUAL;
    ready_value = value_of(self);
    amg_lock_take(&self->lock);
    if (is_ready(self)) {
        amg_lock_give(&self->lock);
    } else if (AMG_CONTRACT(!amg_waiters_caller_is_task())) {
        if (!eventual_sleep(self, deadline_ns))
            return ABT_ERR_COND_TIMEDOUT;
    } else {
        amg_lock_give(&self->lock);
        return ABT_ERR_EVENTUAL;
    }
    if (value != NULL)
        *value = ready_value;
    return ABT_SUCCESS;
}

int ABT_eventual_wait(ABT_eventual eventual, void **value)
{
    return eventual_wait(eventual_of(eventual), value, AMG_NO_DEADLINE);
}

int ABT_eventual_timedwait(
    ABT_eventual eventual, void **value, const struct timespec *abstime)
{
    if (!AMG_CONTRACT(amg_park_moment_is_good(abstime)))
        return ABT_ERR_INV_ARG;
    return eventual_wait(
        eventual_of(eventual), value, amg_park_moment(abstime));
}

int ABT_eventual_test(ABT_eventual eventual, void **value, ABT_bool *ready)
{
    struct eventual *self = eventual_of(eventual);
    bool is_set = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_EVENTUAL;
    if (!AMG_CONTRACT(ready != NULL))
        return ABT_ERR_INV_ARG;
    if (is_ready(self)) {
        amg_lock_take(&self->lock);
        is_set = is_ready(self);
        amg_lock_give(&self->lock);
    }
    if (is_set && value != NULL)
        *value = value_of(self);
    *ready = is_set ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_eventual_set(ABT_eventual eventual, void *value, int nbytes)
{
    struct eventual *self = eventual_of(eventual);
    struct amg_waiters_taken taken = {NULL, NULL};
    bool was_ready = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_EVENTUAL;
    if (!AMG_CONTRACT(nbytes >= 0 && nbytes <= self->value_cap &&
                      (nbytes == 0 || value != NULL)))
        return ABT_ERR_INV_ARG;
    amg_lock_take(&self->lock);
    was_ready = is_ready(self);
    if (!was_ready) {
        if (nbytes > 0)
            memcpy(self->value, value, (size_t)nbytes);
        ready_set(self, true);
        taken = amg_waiters_take_all(&self->waiters);
    }
    amg_lock_give(&self->lock);
    amg_waiters_wake(taken);
    return AMG_CONTRACT(!was_ready) ? ABT_SUCCESS : ABT_ERR_EVENTUAL;
}

int ABT_eventual_reset(ABT_eventual eventual)
{
    struct eventual *self = eventual_of(eventual);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_EVENTUAL;
    amg_lock_take(&self->lock);
    ready_set(self, false);
    amg_lock_give(&self->lock);
    return ABT_SUCCESS;
}
