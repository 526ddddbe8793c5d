/* SPDX-License-Identifier: BSD-3-Clause */
/* Eventuals, which one caller sets, with some bytes or none, and futures, which
 * are ready when as many values as they have room for were set. Others wait for
 * both.
 *
 * The first caller that finds an eventual ready may free it. So every caller
 * that finds it ready takes the lock before it returns: the setter has left
 * then. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ult/park.h"

/* The part of both that is waited for; zeros make one that is not ready. */
struct event {
    struct amg_lock lock; /* guards all of the object */
    atomic_bool is_ready; /* also read without the lock, as a hint */
    struct amg_list waiters;
};

/* An eventual, behind ABT_eventual; zeros make one without memory. Owned by the
 * caller that created it, or by the program whose memory it lies in. */
struct eventual {
    uint64_t kind; /* 0; there is one only */
    struct event event;
    int64_t value_cap;
    uint64_t unused;
    uint64_t value[];
};

_Static_assert(offsetof(struct eventual, value) % 16 == 0,
    "a value lies on the boundary that memory of the heap has");

_Static_assert(sizeof(struct eventual) <= sizeof(ABT_eventual_memory),
    "an eventual fits into the memory that abt.h gives it");

/* A future, behind ABT_future; its creator's until it is freed. */
struct future {
    struct event event;
    uint32_t count; /* of values that were set */
    uint32_t cap;
    void (*all_set)(void **values); /* NULL: none was given */
    void *values[];
};

static bool is_ready(const struct event *event)
{
    return atomic_load_explicit(&event->is_ready, memory_order_relaxed);
}

static void ready_set(struct event *event, bool value)
{
    atomic_store_explicit(&event->is_ready, value, memory_order_relaxed);
}

/* `refused`: the code for a tasklet, which cannot wait. */
static inline int event_wait(
    struct event *event, uint64_t deadline_ns, int refused)
{
    struct amg_waiter waiter;

    amg_lock_lock(&event->lock);
    if (is_ready(event)) {
        amg_lock_unlock(&event->lock);
        return ABT_SUCCESS;
    }
    if (!AMG_CONTRACT(!amg_ult_caller_is_task())) {
        amg_lock_unlock(&event->lock);
        return refused;
    }
    amg_waiter_init(&waiter);
    amg_waiters_push(&event->waiters, &waiter);
    return amg_park_until(&waiter, &event->lock, deadline_ns)
               ? ABT_SUCCESS
               : ABT_ERR_COND_TIMEDOUT;
}

static bool event_test(struct event *event)
{
    bool is_set = false;

    if (is_ready(event)) {
        amg_lock_lock(&event->lock);
        is_set = is_ready(event);
        amg_lock_unlock(&event->lock);
    }
    return is_set;
}

/* Its waiters, for amg_waiters_wake() without the lock. */
static struct amg_waiters_taken event_set_locked(struct event *event)
{
    ready_set(event, true);
    return amg_waiters_take_all(&event->waiters);
}

static struct eventual *eventual_of(ABT_eventual eventual)
{
    return (struct eventual *)(void *)eventual;
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
    if (!AMG_CONTRACT(
            amg_waiters_have_gone(&old->event.lock, &old->event.waiters)))
        return ABT_ERR_EVENTUAL;
    amg_mem_free(old);
    *eventual = ABT_EVENTUAL_NULL;
    return ABT_SUCCESS;
}

static int eventual_wait(
    struct eventual *self, void **value, uint64_t deadline_ns)
{
    void *ready_value = NULL;
    int rc = ABT_ERR_INV_EVENTUAL;

    if (!AMG_CONTRACT(self != NULL))
        return rc;
    ready_value = value_of(self);
    rc = event_wait(&self->event, deadline_ns, ABT_ERR_EVENTUAL);
    if (rc == ABT_SUCCESS && value != NULL)
        *value = ready_value;
    return rc;
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
    is_set = event_test(&self->event);
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
    amg_lock_lock(&self->event.lock);
    was_ready = is_ready(&self->event);
    if (!was_ready) {
        if (nbytes > 0)
            memcpy(self->value, value, (size_t)nbytes);
        taken = event_set_locked(&self->event);
    }
    amg_lock_unlock(&self->event.lock);
    amg_waiters_wake(taken);
    return AMG_CONTRACT(!was_ready) ? ABT_SUCCESS : ABT_ERR_EVENTUAL;
}

int ABT_eventual_reset(ABT_eventual eventual)
{
    struct eventual *self = eventual_of(eventual);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_EVENTUAL;
    amg_lock_lock(&self->event.lock);
    ready_set(&self->event, false);
    amg_lock_unlock(&self->event.lock);
    return ABT_SUCCESS;
}

static struct future *future_of(ABT_future future)
{
    return (struct future *)(void *)future;
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
    ready_set(&self->event, num_compartments == 0);
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
    if (!AMG_CONTRACT(
            amg_waiters_have_gone(&old->event.lock, &old->event.waiters)))
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
    return event_wait(&self->event, AMG_NO_DEADLINE, ABT_ERR_FUTURE);
}

int ABT_future_test(ABT_future future, ABT_bool *ready)
{
    struct future *self = future_of(future);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    if (!AMG_CONTRACT(ready != NULL))
        return ABT_ERR_INV_ARG;
    *ready = event_test(&self->event) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

/* All values are there: the program's function runs first, with no lock. */
static void future_complete(struct future *self)
{
    struct amg_waiters_taken taken;

    if (self->all_set != NULL)
        self->all_set(self->values);
    amg_lock_lock(&self->event.lock);
    taken = event_set_locked(&self->event);
    amg_lock_unlock(&self->event.lock);
    amg_waiters_wake(taken);
}

int ABT_future_set(ABT_future future, void *value)
{
    struct future *self = future_of(future);
    bool has_room = false;
    bool is_last = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_FUTURE;
    amg_lock_lock(&self->event.lock);
    has_room = self->count < self->cap;
    if (has_room)
        self->values[self->count++] = value;
    is_last = has_room && self->count == self->cap;
    amg_lock_unlock(&self->event.lock);
    if (!AMG_CONTRACT(has_room))
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
    amg_lock_lock(&self->event.lock);
    self->count = 0;
    ready_set(&self->event, self->cap == 0);
    amg_lock_unlock(&self->event.lock);
    return ABT_SUCCESS;
}
