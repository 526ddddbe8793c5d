/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers-writer locks.
 *
 * A reader may lock while readers hold it, even if a writer waits: so read
 * locks nest, as programs use them. When the writer unlocks, all waiting
 * readers go first; when the last reader does, the oldest waiting writer. The
 * lock is handed over: an unparked waiter holds it. */
#include <stddef.h>

#include "abt.h"
#include "base/assert.h"
#include "base/mem.h"
#include "ult/park.h"

/* A lock, behind ABT_rwlock; zeros make one. Owned by its creator, or by the
 * program whose memory it lies in. The lock guards all. */
struct rwlock {
    uint64_t kind; /* 0; there is one only */
    struct amg_lock lock;
    bool is_writing;
    unsigned readers; /* inside */
    struct amg_list waiting_readers;
    struct amg_list waiting_writers;
};

_Static_assert(sizeof(struct rwlock) <= sizeof(ABT_rwlock_memory),
    "a lock fits into the memory that abt.h gives it");

static struct rwlock *rwlock_of(ABT_rwlock rwlock)
{
    return (struct rwlock *)(void *)rwlock;
}

static bool must_wait(const struct rwlock *self, bool to_write)
{
    return self->is_writing || (to_write && self->readers > 0);
}

static int rwlock_enter(struct rwlock *self, bool to_write)
{
    struct amg_waiter waiter;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_RWLOCK;
    amg_lock_lock(&self->lock);
    if (must_wait(self, to_write)) {
        if (!AMG_CONTRACT(!amg_ult_caller_is_task())) {
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

/* Lets the next in, when none is inside. */
static struct amg_waiters_taken hand_over_locked(struct rwlock *self)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    struct amg_waiter *waiter = NULL;

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
    if (!AMG_CONTRACT(newrwlock != NULL))
        return ABT_ERR_INV_ARG;
    return amg_handle_create(newrwlock, sizeof(struct rwlock));
}

int ABT_rwlock_free(ABT_rwlock *rwlock)
{
    struct rwlock *old = NULL;
    bool has_waiters = false;

    if (!AMG_CONTRACT(rwlock != NULL))
        return ABT_ERR_INV_ARG;
    old = rwlock_of(*rwlock);
    if (!AMG_CONTRACT(old != NULL))
        return ABT_ERR_INV_RWLOCK;
    amg_lock_lock(&old->lock);
    has_waiters = !amg_waiters_is_empty(&old->waiting_readers) ||
                  !amg_waiters_is_empty(&old->waiting_writers);
    amg_lock_unlock(&old->lock);
    if (!AMG_CONTRACT(!has_waiters))
        return ABT_ERR_RWLOCK;
    amg_mem_free(old);
    *rwlock = ABT_RWLOCK_NULL;
    return ABT_SUCCESS;
}

int ABT_rwlock_rdlock(ABT_rwlock rwlock)
{
    return rwlock_enter(rwlock_of(rwlock), false);
}

int ABT_rwlock_wrlock(ABT_rwlock rwlock)
{
    return rwlock_enter(rwlock_of(rwlock), true);
}

int ABT_rwlock_unlock(ABT_rwlock rwlock)
{
    struct rwlock *self = rwlock_of(rwlock);
    struct amg_waiters_taken taken = {NULL, NULL};
    bool is_held = false;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_RWLOCK;
    amg_lock_lock(&self->lock);
    is_held = self->is_writing || self->readers > 0;
    if (self->is_writing)
        self->is_writing = false;
    else if (is_held)
        self->readers--;
    if (is_held && self->readers == 0)
        taken = hand_over_locked(self);
    amg_lock_unlock(&self->lock);
    amg_waiters_wake(taken);
    return AMG_CONTRACT(is_held) ? ABT_SUCCESS : ABT_ERR_RWLOCK;
}
