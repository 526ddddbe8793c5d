/* SPDX-License-Identifier: BSD-3-Clause */
/* Eventuals, futures, barriers and readers-writer locks. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ult/park.h"

/* The common part of an eventual, which one caller sets, and of a future, which
 * is ready once all its values are set. Callers wait for the event. An event of
 * zeros is not ready.
 *
 * A caller that finds an event ready may free the event. So each such caller
 * takes the lock before it returns: by then the setter has left the event. */
struct event {
    struct amg_lock lock; /* guards all of the object */
    atomic_bool is_ready; /* also read without the lock, as a hint */
    struct amg_list waiters;
};

/* An eventual, behind ABT_eventual; an eventual of zeros holds no value. Owned
 * by its creator, or by the program whose memory has the eventual. */
struct ABT_eventual_opaque {
    uint64_t kind; /* 0, as there is only one kind */
    struct event event;
    int64_t value_cap;
    uint64_t unused;
    uint64_t value[];
};

_Static_assert(offsetof(struct ABT_eventual_opaque, value) % 16 == 0,
    "a value is aligned like memory of malloc()");

_Static_assert(
    sizeof(struct ABT_eventual_opaque) <= sizeof(ABT_eventual_memory),
    "an eventual fits into the memory that abt.h gives it");

/* A future, behind ABT_future; owned by its creator. */
struct ABT_future_opaque {
    struct event event; /* first member, as event_is_idle() requires */
    uint32_t count;     /* values that were set */
    uint32_t cap;
    void (*all_set)(void **values); /* may be NULL */
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

#define TASK_TEXT "the caller is a tasklet, which cannot wait"

/* Waits until the event is ready. A tasklet that would wait gets `refused`. */
static inline int event_wait(
    const char *call, struct event *event, uint64_t deadline_ns, int refused)
{
    struct amg_waiter waiter;

    amg_lock_lock(&event->lock);
    if (is_ready(event)) {
        amg_lock_unlock(&event->lock);
        return ABT_SUCCESS;
    }
    if (!AMG_CONTRACT_OF(call, !amg_ult_caller_is_task(), TASK_TEXT)) {
        amg_lock_unlock(&event->lock);
        return refused;
    }
    amg_waiter_init(&waiter);
    amg_waiters_push(&event->waiters, &waiter);
    return amg_park_until(&waiter, &event->lock, deadline_ns)
               ? ABT_SUCCESS
               : ABT_ERR_COND_TIMEDOUT;
}

/* Has the event no waiters? Called before a free. Takes the lock so that the
 * setter has left. `object`: an event, or the future that begins with it. */
static bool event_is_idle(void *object)
{
    struct event *event = object;
    bool is_idle = false;

    amg_lock_lock(&event->lock);
    is_idle = amg_waiters_is_empty(&event->waiters);
    amg_lock_unlock(&event->lock);
    return is_idle;
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

/* Sets the event. Returns the waiters, to wake them without the lock. */
static struct amg_waiters_taken event_set_locked(struct event *event)
{
    AMG_ASSERT_HELD(&event->lock);
    ready_set(event, true);
    return amg_waiters_take_all(&event->waiters);
}

static void *value_of(ABT_eventual self)
{
    return self->value_cap > 0 ? self->value : NULL;
}

int ABT_eventual_create(int nbytes, ABT_eventual *neweventual)
{
    ABT_eventual self = NULL;

    if (!AMG_GIVEN(neweventual) ||
        !AMG_CONTRACT(nbytes >= 0, "nbytes is %d", nbytes))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(sizeof(*self) + (size_t)nbytes);
    if (self == NULL)
        return ABT_ERR_MEM;
    self->value_cap = nbytes;
    *neweventual = self;
    return ABT_SUCCESS;
}

static bool eventual_is_idle(void *object)
{
    ABT_eventual self = object;

    return event_is_idle(&self->event);
}

int ABT_eventual_free(ABT_eventual *eventual)
{
    return amg_sync_free(__func__, eventual, ABT_ERR_INV_EVENTUAL,
        ABT_ERR_EVENTUAL, eventual_is_idle);
}

static int eventual_wait(
    const char *call, ABT_eventual self, void **value, uint64_t deadline_ns)
{
    void *ready_value = NULL;
    int rc = ABT_ERR_INV_EVENTUAL;

    if (!AMG_CONTRACT_OF(call, self != NULL, "the eventual is NULL"))
        return rc;
    ready_value = value_of(self);
    rc = event_wait(call, &self->event, deadline_ns, ABT_ERR_EVENTUAL);
    if (rc == ABT_SUCCESS && value != NULL)
        *value = ready_value;
    return rc;
}

int ABT_eventual_wait(ABT_eventual eventual, void **value)
{
    return eventual_wait(__func__, eventual, value, AMG_NO_DEADLINE);
}

int ABT_eventual_timedwait(
    ABT_eventual eventual, void **value, const struct timespec *abstime)
{
    if (!AMG_CONTRACT(amg_timespec_is_valid(abstime),
            "abstime is NULL, or its tv_nsec is not 0 to 999999999"))
        return ABT_ERR_INV_ARG;
    return eventual_wait(
        __func__, eventual, value, amg_timespec_deadline_ns(abstime));
}

int ABT_eventual_test(ABT_eventual eventual, void **value, ABT_bool *ready)
{
    bool is_set = false;

    if (!AMG_GIVEN(eventual))
        return ABT_ERR_INV_EVENTUAL;
    if (!AMG_GIVEN(ready))
        return ABT_ERR_INV_ARG;
    is_set = event_test(&eventual->event);
    if (is_set && value != NULL)
        *value = value_of(eventual);
    *ready = is_set ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_eventual_set(ABT_eventual eventual, void *value, int nbytes)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    bool was_ready = false;

    if (!AMG_GIVEN(eventual))
        return ABT_ERR_INV_EVENTUAL;
    if (!AMG_CONTRACT(nbytes >= 0 && nbytes <= eventual->value_cap &&
                          (nbytes == 0 || value != NULL),
            "nbytes is %d with value %p, but the eventual holds %lld bytes",
            nbytes, value, (long long)eventual->value_cap))
        return ABT_ERR_INV_ARG;
    amg_lock_lock(&eventual->event.lock);
    was_ready = is_ready(&eventual->event);
    if (!was_ready) {
        if (nbytes > 0)
            memcpy(eventual->value, value, (size_t)nbytes);
        taken = event_set_locked(&eventual->event);
    }
    amg_lock_unlock(&eventual->event.lock);
    amg_waiters_wake(taken);
    return AMG_CONTRACT(!was_ready,
               "the eventual %p is set already; call ABT_eventual_reset() "
               "before you set it again",
               (void *)eventual)
               ? ABT_SUCCESS
               : ABT_ERR_EVENTUAL;
}

int ABT_eventual_reset(ABT_eventual eventual)
{
    if (!AMG_GIVEN(eventual))
        return ABT_ERR_INV_EVENTUAL;
    amg_lock_lock(&eventual->event.lock);
    ready_set(&eventual->event, false);
    amg_lock_unlock(&eventual->event.lock);
    return ABT_SUCCESS;
}

int ABT_future_create(uint32_t num_compartments, void (*cb_func)(void **arg),
    ABT_future *newfuture)
{
    ABT_future self = NULL;

    if (!AMG_GIVEN(newfuture))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(
        sizeof(*self) + (size_t)num_compartments * sizeof(self->values[0]));
    if (self == NULL)
        return ABT_ERR_MEM;
    self->cap = num_compartments;
    self->all_set = cb_func;
    ready_set(&self->event, num_compartments == 0);
    *newfuture = self;
    return ABT_SUCCESS;
}

int ABT_future_free(ABT_future *future)
{
    return amg_sync_free(
        __func__, future, ABT_ERR_INV_FUTURE, ABT_ERR_FUTURE, event_is_idle);
}

int ABT_future_wait(ABT_future future)
{
    if (!AMG_GIVEN(future))
        return ABT_ERR_INV_FUTURE;
    return event_wait(
        __func__, &future->event, AMG_NO_DEADLINE, ABT_ERR_FUTURE);
}

int ABT_future_test(ABT_future future, ABT_bool *ready)
{
    if (!AMG_GIVEN(future))
        return ABT_ERR_INV_FUTURE;
    if (!AMG_GIVEN(ready))
        return ABT_ERR_INV_ARG;
    *ready = event_test(&future->event) ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

/* Called when all values are set: calls the program's function, without the
 * lock, and wakes the waiters. */
static void future_complete(ABT_future self)
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
    bool has_room = false;
    bool is_last = false;

    if (!AMG_GIVEN(future))
        return ABT_ERR_INV_FUTURE;
    amg_lock_lock(&future->event.lock);
    has_room = future->count < future->cap;
    if (has_room)
        future->values[future->count++] = value;
    is_last = has_room && future->count == future->cap;
    amg_lock_unlock(&future->event.lock);
    if (!AMG_CONTRACT(has_room,
            "all %u values of the future %p are set already",
            (unsigned)future->cap, (void *)future))
        return ABT_ERR_FUTURE;
    if (is_last)
        future_complete(future);
    return ABT_SUCCESS;
}

int ABT_future_reset(ABT_future future)
{
    if (!AMG_GIVEN(future))
        return ABT_ERR_INV_FUTURE;
    amg_lock_lock(&future->event.lock);
    future->count = 0;
    ready_set(&future->event, future->cap == 0);
    amg_lock_unlock(&future->event.lock);
    return ABT_SUCCESS;
}

/* A barrier, behind ABT_barrier or ABT_xstream_barrier; owned by its creator.
 * The lock guards all fields. A caller that has parked does not touch the
 * barrier after the unpark: the barrier may be freed. */
struct ABT_barrier_opaque {
    struct amg_lock lock;
    uint32_t cap;   /* number of callers that the barrier waits for */
    uint32_t count; /* number of callers that wait */
    struct amg_list waiters;
};

/* Sets the number of callers, unless `cap` is 0. False: threads wait. */
static bool barrier_set(ABT_barrier self, uint32_t cap)
{
    bool is_empty = false;

    amg_lock_lock(&self->lock);
    is_empty = self->count == 0;
    if (is_empty && cap > 0)
        self->cap = cap;
    amg_lock_unlock(&self->lock);
    return is_empty;
}

/* `keeps_stream`: the caller blocks its OS thread, and so its whole xstream. */
static void barrier_wait(ABT_barrier self, bool keeps_stream)
{
    struct amg_waiters_taken taken;
    struct amg_waiter waiter;

    amg_lock_lock(&self->lock);
    AMG_ASSERT(self->count < self->cap);
    if (self->count + 1 < self->cap) {
        self->count++;
        amg_waiter_init(&waiter);
        if (keeps_stream)
            waiter.ult = NULL;
        amg_waiters_push(&self->waiters, &waiter);
        amg_park(&waiter, &self->lock);
        return;
    }
    self->count = 0;
    taken = amg_waiters_take_all(&self->waiters);
    amg_lock_unlock(&self->lock);
    amg_waiters_wake(taken);
}

/* `call`: the public function, for the log. */
static int barrier_create(
    const char *call, uint32_t num_waiters, void *ret_barrier)
{
    ABT_barrier self = NULL;

    amg_handle_clear(ret_barrier);
    if (!AMG_CONTRACT_OF(call, ret_barrier != NULL && num_waiters > 0,
            "newbarrier is %p, num_waiters is %u", ret_barrier,
            (unsigned)num_waiters))
        return ABT_ERR_INV_ARG;
    self = amg_mem_zalloc(sizeof(*self));
    if (self == NULL)
        return ABT_ERR_MEM;
    self->cap = num_waiters;
    memcpy(ret_barrier, &self, sizeof(self));
    return ABT_SUCCESS;
}

int ABT_barrier_create(uint32_t num_waiters, ABT_barrier *newbarrier)
{
    return barrier_create(__func__, num_waiters, newbarrier);
}

int ABT_barrier_reinit(ABT_barrier barrier, uint32_t num_waiters)
{
    bool is_empty = false;

    if (!AMG_GIVEN(barrier))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(num_waiters > 0, "num_waiters is 0"))
        return ABT_ERR_INV_ARG;
    is_empty = barrier_set(barrier, num_waiters);
    return AMG_CONTRACT(
               is_empty, "threads wait at the barrier %p", (void *)barrier)
               ? ABT_SUCCESS
               : ABT_ERR_BARRIER;
}

static bool barrier_is_idle(void *object)
{
    return barrier_set(object, 0);
}

int ABT_barrier_free(ABT_barrier *barrier)
{
    return amg_sync_free(__func__, barrier, ABT_ERR_INV_BARRIER,
        ABT_ERR_BARRIER, barrier_is_idle);
}

int ABT_barrier_wait(ABT_barrier barrier)
{
    if (!AMG_GIVEN(barrier))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_CONTRACT(!amg_ult_caller_is_task(), TASK_TEXT))
        return ABT_ERR_BARRIER;
    barrier_wait(barrier, false);
    return ABT_SUCCESS;
}

int ABT_barrier_get_num_waiters(ABT_barrier barrier, uint32_t *num_waiters)
{
    if (!AMG_GIVEN(barrier))
        return ABT_ERR_INV_BARRIER;
    if (!AMG_GIVEN(num_waiters))
        return ABT_ERR_INV_ARG;
    amg_lock_lock(&barrier->lock);
    *num_waiters = barrier->cap;
    amg_lock_unlock(&barrier->lock);
    return ABT_SUCCESS;
}

int ABT_xstream_barrier_create(
    uint32_t num_waiters, ABT_xstream_barrier *newbarrier)
{
    return barrier_create(__func__, num_waiters, newbarrier);
}

int ABT_xstream_barrier_free(ABT_xstream_barrier *barrier)
{
    return amg_sync_free(__func__, barrier, ABT_ERR_INV_XSTREAM_BARRIER,
        ABT_ERR_XSTREAM_BARRIER, barrier_is_idle);
}

int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier)
{
    if (!AMG_GIVEN(barrier))
        return ABT_ERR_INV_XSTREAM_BARRIER;
    barrier_wait((ABT_barrier)(void *)barrier, true);
    return ABT_SUCCESS;
}

/* A readers-writer lock, behind ABT_rwlock; a lock of zeros is free. Owned by
 * its creator, or by the program whose memory has it. `lock` guards all fields.
 *
 * A reader may lock while readers hold the lock, even if a writer waits: so a
 * reader may lock recursively, as programs do. An unlock that frees the lock
 * hands the lock to all waiting readers, or, if no reader waits, to the oldest
 * waiting writer: an unparked waiter holds the lock. */
struct ABT_rwlock_opaque {
    uint64_t kind; /* 0, as there is only one kind */
    struct amg_lock lock;
    bool is_writing;
    unsigned readers; /* readers that hold the lock */
    struct amg_list waiting_readers;
    struct amg_list waiting_writers;
};

_Static_assert(sizeof(struct ABT_rwlock_opaque) <= sizeof(ABT_rwlock_memory),
    "a lock fits into the memory that abt.h gives it");

static int rwlock_enter(ABT_rwlock self, bool to_write)
{
    const char *call = to_write ? "ABT_rwlock_wrlock" : "ABT_rwlock_rdlock";
    struct amg_waiter waiter;

    if (!AMG_CONTRACT_OF(call, self != NULL, "the lock is NULL"))
        return ABT_ERR_INV_RWLOCK;
    amg_lock_lock(&self->lock);
    if (self->is_writing || (to_write && self->readers > 0)) {
        if (!AMG_CONTRACT_OF(call, !amg_ult_caller_is_task(), TASK_TEXT)) {
            amg_lock_unlock(&self->lock);
            return ABT_ERR_RWLOCK;
        }
        amg_waiter_init(&waiter);
        amg_waiters_push(
            to_write ? &self->waiting_writers : &self->waiting_readers,
            &waiter);
        amg_park(&waiter, &self->lock);
        return ABT_SUCCESS;
    }
    if (to_write)
        self->is_writing = true;
    else
        self->readers++;
    amg_lock_unlock(&self->lock);
    return ABT_SUCCESS;
}

/* Hands the lock, which no thread holds, to the next waiters. */
static struct amg_waiters_taken hand_over_locked(ABT_rwlock self)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    struct amg_waiter *waiter = NULL;

    AMG_ASSERT_HELD(&self->lock);
    AMG_ASSERT(!self->is_writing && self->readers == 0);
    while ((waiter = amg_waiters_pop(&self->waiting_readers)) != NULL) {
        self->readers++;
        amg_waiters_add(&taken, waiter);
    }
    if (self->readers > 0)
        return taken;
    waiter = amg_waiters_pop(&self->waiting_writers);
    if (waiter != NULL) {
        self->is_writing = true;
        amg_waiters_add(&taken, waiter);
    }
    return taken;
}

int ABT_rwlock_create(ABT_rwlock *newrwlock)
{
    if (!AMG_GIVEN(newrwlock))
        return ABT_ERR_INV_ARG;
    return amg_handle_create(newrwlock, sizeof(struct ABT_rwlock_opaque));
}

static bool rwlock_is_idle(void *object)
{
    ABT_rwlock self = object;
    bool is_idle = false;

    amg_lock_lock(&self->lock);
    is_idle = amg_waiters_is_empty(&self->waiting_readers) &&
              amg_waiters_is_empty(&self->waiting_writers);
    amg_lock_unlock(&self->lock);
    return is_idle;
}

int ABT_rwlock_free(ABT_rwlock *rwlock)
{
    return amg_sync_free(
        __func__, rwlock, ABT_ERR_INV_RWLOCK, ABT_ERR_RWLOCK, rwlock_is_idle);
}

int ABT_rwlock_rdlock(ABT_rwlock rwlock)
{
    return rwlock_enter(rwlock, false);
}

int ABT_rwlock_wrlock(ABT_rwlock rwlock)
{
    return rwlock_enter(rwlock, true);
}

int ABT_rwlock_unlock(ABT_rwlock rwlock)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    bool is_held = false;

    if (!AMG_GIVEN(rwlock))
        return ABT_ERR_INV_RWLOCK;
    amg_lock_lock(&rwlock->lock);
    is_held = rwlock->is_writing || rwlock->readers > 0;
    if (rwlock->is_writing)
        rwlock->is_writing = false;
    else if (is_held)
        rwlock->readers--;
    if (is_held && rwlock->readers == 0)
        taken = hand_over_locked(rwlock);
    amg_lock_unlock(&rwlock->lock);
    amg_waiters_wake(taken);
    return AMG_CONTRACT(is_held, "the lock %p is not held", (void *)rwlock)
               ? ABT_SUCCESS
               : ABT_ERR_RWLOCK;
}
