/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables.
 *
 * A waiter enters the queue before it unlocks its mutex, so that no signal made
 * under that mutex is missed; but it unlocks it with no lock held, so a signal
 * may come before it has parked. The signal is then only recorded in the
 * waiter, which is not unparked.
 *
 * A waiter that had parked when it was signaled does not touch the condition
 * again. Others do once, and are counted by `inside`: ABT_cond_free() lets them
 * leave first. */
#include <stddef.h>

#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/mutex.h"
#include "ult/park.h"
#include "ult/switch_to.h"

/* A condition, behind ABT_cond; zeros make one. Owned by its creator, or by the
 * program whose memory it lies in. The lock guards all. */
struct cond {
    uint64_t kind; /* 0; there is one only */
    struct amg_lock lock;
    unsigned inside; /* waiters that will touch it again */
    struct amg_list waiters;
    struct amg_mutex *mutex; /* of those in the queue; NULL: it is empty */
};

_Static_assert(sizeof(struct cond) <= sizeof(ABT_cond_memory),
    "a condition fits into the memory that abt.h gives it");

/* Lies on the stack of the waiter; guarded by the condition's lock. */
struct cond_waiter {
    struct amg_waiter waiter;
    bool is_parked;
    bool is_signaled;
    bool returns; /* touches the condition after it was unparked */
};

static struct cond *cond_of(ABT_cond cond)
{
    return (struct cond *)(void *)cond;
}

/* False: others wait with another mutex. */
static bool cond_enter(
    struct cond *cond, struct amg_mutex *mutex, struct cond_waiter *self)
{
    bool is_ours = false;

    amg_lock_lock(&cond->lock);
    is_ours = cond->mutex == NULL || cond->mutex == mutex;
    if (is_ours) {
        cond->mutex = mutex;
        cond->inside++;
        amg_waiters_push(&cond->waiters, &self->waiter);
    }
    amg_lock_unlock(&cond->lock);
    return is_ours;
}

/* Some have left the queue. */
static void cond_shrunk_locked(struct cond *cond)
{
    if (amg_waiters_is_empty(&cond->waiters))
        cond->mutex = NULL;
}

/* False: the moment has come first; NULL: there is none. */
static bool cond_sleep(
    struct cond *cond, struct cond_waiter *self, const uint64_t *deadline_ns)
{
    bool is_signaled = true;

    amg_lock_lock(&cond->lock);
    if (!self->is_signaled) {
        self->is_parked = true;
        if (deadline_ns == NULL) {
            amg_park(&self->waiter, &cond->lock);
            return true;
        }
        is_signaled = amg_park_until(&self->waiter, &cond->lock, *deadline_ns);
        amg_lock_lock(&cond->lock);
    }
    AMG_ASSERT(cond->inside > 0);
    cond->inside--;
    if (!is_signaled)
        cond_shrunk_locked(cond);
    amg_lock_unlock(&cond->lock);
    return is_signaled;
}

static int cond_wait(
    struct cond *cond, struct amg_mutex *mutex, const uint64_t *deadline_ns)
{
    struct cond_waiter self = {.returns = deadline_ns != NULL};
    bool is_signaled = false;
    bool is_first_mutex = false;
    unsigned depth = 0;

    if (!AMG_CONTRACT(cond != NULL))
        return ABT_ERR_INV_COND;
    if (!AMG_CONTRACT(mutex != NULL))
        return ABT_ERR_INV_MUTEX;
    if (!AMG_CONTRACT(!amg_ult_caller_is_task()))
        return ABT_ERR_COND;
    if (!AMG_CONTRACT(amg_mutex_may_give(mutex)))
        return ABT_ERR_MUTEX;
    amg_waiter_init(&self.waiter);
    is_first_mutex = cond_enter(cond, mutex, &self);
    if (!AMG_CONTRACT(is_first_mutex))
        return ABT_ERR_INV_MUTEX;
    depth = amg_mutex_give_all(mutex);
    is_signaled = cond_sleep(cond, &self, deadline_ns);
    /* Before it has the mutex again, which would then never be given. */
    if (!is_signaled && amg_ult_self() != NULL)
        amg_ult_go_on(amg_ult_self());
    amg_mutex_take_all(mutex, depth);
    return is_signaled ? ABT_SUCCESS : ABT_ERR_COND_TIMEDOUT;
}

/* Takes the first out of the queue, for amg_waiters_wake(). False: there is
 * none. */
static bool cond_signal_locked(
    struct cond *cond, struct amg_waiters_taken *taken)
{
    struct amg_waiter *waiter = amg_waiters_pop(&cond->waiters);
    struct cond_waiter *first = NULL;

    if (waiter == NULL)
        return false;
    first = amg_container_of(waiter, struct cond_waiter, waiter);
    first->is_signaled = true;
    if (first->is_parked) {
        amg_waiters_add(taken, waiter);
        if (!first->returns)
            cond->inside--;
    }
    cond_shrunk_locked(cond);
    return true;
}

int ABT_cond_create(ABT_cond *newcond)
{
    if (!AMG_CONTRACT(newcond != NULL))
        return ABT_ERR_INV_ARG;
    return amg_handle_create(newcond, sizeof(struct cond));
}

int ABT_cond_free(ABT_cond *cond)
{
    struct cond *old = NULL;
    bool has_waiters = false;

    if (!AMG_CONTRACT(cond != NULL))
        return ABT_ERR_INV_ARG;
    old = cond_of(*cond);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_COND;
    amg_lock_lock(&old->lock);
    has_waiters = old->mutex != NULL;
    for (unsigned tries = 0; !has_waiters && old->inside > 0; tries++) {
        amg_lock_unlock(&old->lock);
        if (amg_ult_self() == NULL)
            amg_lock_rest(tries);
        else
            (void)ABT_thread_yield();
        amg_lock_lock(&old->lock);
    }
    amg_lock_unlock(&old->lock);
    if (!AMG_CONTRACT(!has_waiters))
        return ABT_ERR_COND;
    amg_mem_free(old);
    *cond = ABT_COND_NULL;
    return ABT_SUCCESS;
}

int ABT_cond_wait(ABT_cond cond, ABT_mutex mutex)
{
    return cond_wait(cond_of(cond), (struct amg_mutex *)(void *)mutex, NULL);
}

int ABT_cond_timedwait(
    ABT_cond cond, ABT_mutex mutex, const struct timespec *abstime)
{
    uint64_t deadline_ns = 0;

    if (!AMG_CONTRACT(amg_park_moment_is_good(abstime)))
        return ABT_ERR_INV_ARG;
    deadline_ns = amg_park_moment(abstime);
    return cond_wait(
        cond_of(cond), (struct amg_mutex *)(void *)mutex, &deadline_ns);
}

int ABT_cond_signal(ABT_cond cond)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    struct cond *self = cond_of(cond);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_COND;
    amg_lock_lock(&self->lock);
    (void)cond_signal_locked(self, &taken);
    amg_lock_unlock(&self->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}

int ABT_cond_broadcast(ABT_cond cond)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    struct cond *self = cond_of(cond);

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_COND;
    amg_lock_lock(&self->lock);
    while (cond_signal_locked(self, &taken)) {
    }
    amg_lock_unlock(&self->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}
