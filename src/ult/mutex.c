/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes and condition variables, for user-level threads and OS threads. */
#include <stddef.h>

#include "abt.h"
#include "base/assert.h"
#include "base/lock.h"
#include "base/mem.h"
#include "ult/park.h"
#include "ult/switch_to.h"

/* States of a mutex:
 *          lock              unlock
 *   FREE -------> HELD ------------> FREE      one exchange each, lock-free
 *   HELD --(lock)--> WANTED --(unlock)--> PASSED --(lock)--> HELD or WANTED
 *                    WANTED --(unlock to a late waiter)----> HELD or WANTED
 *
 * The other edges are made under `lock`. An unlock to PASSED unparks the oldest
 * waiter, unless another unparked waiter has not run yet. Other threads may
 * acquire the mutex before that waiter, as a hand-over at each unlock would
 * cost a switch. An unparked waiter that finds the mutex taken is late: the
 * waiter goes to the front of the queue, and the next unlock hands the mutex
 * over, so no waiter starves. A PASSED mutex is acquired under `lock`: so the
 * next holder, which may free it, knows that the former holder has left. */

enum {
    /* Polls (about 1 us) of an OS thread before its sleep: a sleep and a
     * wake-up take longer than most critical sections. */
    LOOKS = 40,
    /* Polls (about 100 us) of ABT_mutex_spinlock(), before the caller waits as
     * in ABT_mutex_lock(): the holder may need the caller's core. */
    SPINLOCK_LOOKS = 4000,
};

_Static_assert(sizeof(struct ABT_mutex_opaque) <= sizeof(ABT_mutex_memory),
    "a mutex fits into the memory that abt.h gives it");

/* Waiter, on the stack of its thread; the mutex's `lock` guards the fields. */
struct mutex_waiter {
    struct amg_waiter waiter;
    bool is_late;  /* unparked, but another thread acquired the mutex first */
    bool is_owner; /* the unlock has handed the mutex to this waiter */
};

static _Thread_local char thread_mark;

/* Never inlined: the address of thread_mark must not be kept over a switch. */
static AMG_NOINLINE uintptr_t thread_id(void)
{
    return (uintptr_t)&thread_mark;
}

/* Identifies the calling thread. */
static uintptr_t caller_id(void)
{
    struct amg_ult *ult = amg_ult_self();

    return ult == NULL ? thread_id() : (uintptr_t)ult;
}

static bool word_change(
    ABT_mutex mutex, enum amg_mutex_word from, enum amg_mutex_word to)
{
    unsigned expected = from;

    return atomic_compare_exchange_strong_explicit(&mutex->word, &expected, to,
        memory_order_acq_rel, memory_order_relaxed);
}

static unsigned word_of(const struct ABT_mutex_opaque *mutex)
{
    return atomic_load_explicit(&mutex->word, memory_order_relaxed);
}

static bool try_acquire(ABT_mutex mutex)
{
    return word_change(mutex, AMG_MUTEX_FREE, AMG_MUTEX_HELD);
}

static void store_held_locked(ABT_mutex mutex)
{
    const bool is_wanted = !amg_waiters_is_empty(&mutex->waiters);

    AMG_ASSERT_HELD(&mutex->lock);
    atomic_store_explicit(&mutex->word,
        is_wanted ? AMG_MUTEX_WANTED : AMG_MUTEX_HELD, memory_order_relaxed);
}

/* True: the caller has acquired the mutex. False: the mutex is WANTED, and
 * stays WANTED until the caller unlocks `lock`. */
static bool try_acquire_locked(ABT_mutex mutex)
{
    AMG_ASSERT_HELD(&mutex->lock);
    for (;;) {
        switch (word_of(mutex)) {
        case AMG_MUTEX_FREE:
            if (try_acquire(mutex))
                return true;
            break;
        case AMG_MUTEX_HELD:
            if (word_change(mutex, AMG_MUTEX_HELD, AMG_MUTEX_WANTED))
                return false;
            break;
        case AMG_MUTEX_WANTED:
            return false;
        default:
            store_held_locked(mutex);
            return true;
        }
    }
}

/* Tries up to `looks` times to acquire the mutex; gives up if threads wait. */
static bool spin(ABT_mutex mutex, unsigned looks)
{
    while (looks-- > 0) {
        const unsigned word = word_of(mutex);

        if (word == AMG_MUTEX_FREE && try_acquire(mutex))
            return true;
        if (word >= AMG_MUTEX_WANTED)
            return false;
        amg_relax();
    }
    return false;
}

static void acquire_or_wait(ABT_mutex mutex)
{
    struct mutex_waiter self = {.is_late = false};

    amg_lock_lock(&mutex->lock);
    while (!try_acquire_locked(mutex)) {
        amg_waiter_init(&self.waiter);
        if (self.is_late)
            amg_waiters_push_front(&mutex->waiters, &self.waiter);
        else
            amg_waiters_push(&mutex->waiters, &self.waiter);
        amg_park(&self.waiter, &mutex->lock);
        if (self.is_owner)
            return;
        amg_lock_lock(&mutex->lock);
        mutex->is_waking = false;
        self.is_late = true;
    }
    amg_lock_unlock(&mutex->lock);
}

static void acquire(ABT_mutex mutex)
{
    if (try_acquire(mutex))
        return;
    if (amg_ult_self() == NULL && spin(mutex, LOOKS))
        return;
    acquire_or_wait(mutex);
}

/* Releases the mutex while threads wait for it. */
static void release_wanted(ABT_mutex mutex)
{
    struct amg_waiter *waiter = NULL;
    struct mutex_waiter *first = NULL;

    amg_lock_lock(&mutex->lock);
    waiter = amg_waiters_first(&mutex->waiters);
    if (waiter != NULL) {
        first = amg_container_of(waiter, struct mutex_waiter, waiter);
        if (first->is_late || !mutex->is_waking)
            amg_list_remove(&waiter->link);
        else
            waiter = NULL;
    }
    if (waiter != NULL && first->is_late) {
        first->is_owner = true;
        store_held_locked(mutex);
    } else {
        mutex->is_waking = mutex->is_waking || waiter != NULL;
        atomic_store_explicit(
            &mutex->word, AMG_MUTEX_PASSED, memory_order_release);
    }
    amg_lock_unlock(&mutex->lock);
    if (waiter != NULL)
        amg_unpark(waiter);
}

/* Releases the mutex. False: the mutex was not held. */
static bool release(ABT_mutex mutex)
{
    if (word_change(mutex, AMG_MUTEX_HELD, AMG_MUTEX_FREE))
        return true;
    if (word_of(mutex) != AMG_MUTEX_WANTED)
        return false;
    release_wanted(mutex);
    return true;
}

static bool is_owner(const struct ABT_mutex_opaque *mutex)
{
    return atomic_load_explicit(&mutex->owner, memory_order_relaxed) ==
           caller_id();
}

static void owner_set(ABT_mutex mutex, uintptr_t owner)
{
    atomic_store_explicit(&mutex->owner, owner, memory_order_relaxed);
}

/* Counts one more lock of a recursive mutex that the caller holds. */
static bool acquire_again(ABT_mutex mutex)
{
    if (!mutex->is_recursive || !is_owner(mutex))
        return false;
    mutex->depth++;
    return true;
}

/* Is the mutex held, and, if it is recursive, held by the caller? */
static bool mutex_is_held_by_caller(const struct ABT_mutex_opaque *mutex)
{
    const unsigned word = word_of(mutex);

    return (word == AMG_MUTEX_HELD || word == AMG_MUTEX_WANTED) &&
           (!mutex->is_recursive || is_owner(mutex));
}

/* For waiters of a condition: undoes all locks of a mutex by the caller.
 * Returns the depth that mutex_lock_all() restores. */
static unsigned mutex_unlock_all(ABT_mutex mutex)
{
    const unsigned depth = mutex->depth;

    if (mutex->is_recursive) {
        mutex->depth = 0;
        owner_set(mutex, 0);
    }
    (void)release(mutex);
    return depth;
}

static void mutex_lock_all(ABT_mutex mutex, unsigned depth)
{
    acquire(mutex);
    if (mutex->is_recursive) {
        owner_set(mutex, caller_id());
        mutex->depth = depth;
    }
}

static int mutex_lock(const char *call, ABT_mutex mutex, unsigned looks)
{
    if (!AMG_CONTRACT_OF(call, mutex != NULL, "the mutex is NULL"))
        return ABT_ERR_INV_MUTEX;
    if (acquire_again(mutex))
        return ABT_SUCCESS;
    if (looks == 0 || !spin(mutex, looks))
        acquire(mutex);
    if (mutex->is_recursive)
        owner_set(mutex, caller_id());
    return ABT_SUCCESS;
}

/* Attributes, behind ABT_mutex_attr; owned by the program. */
struct ABT_mutex_attr_opaque {
    ABT_bool is_recursive;
};

static int attr_create(ABT_bool is_recursive, ABT_mutex_attr *ret_attr)
{
    struct ABT_mutex_attr_opaque *attr = amg_mem_zalloc(sizeof(*attr));

    if (attr == NULL)
        return ABT_ERR_MEM;
    attr->is_recursive = is_recursive;
    *ret_attr = attr;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_create(ABT_mutex_attr *newattr)
{
    if (!AMG_GIVEN(newattr))
        return ABT_ERR_INV_ARG;
    return attr_create(ABT_FALSE, newattr);
}

int ABT_mutex_attr_free(ABT_mutex_attr *attr)
{
    if (!AMG_GIVEN(attr))
        return ABT_ERR_INV_ARG;
    if (!AMG_CONTRACT(*attr != ABT_MUTEX_ATTR_NULL, "*attr is NULL"))
        return ABT_ERR_INV_MUTEX_ATTR;
    return amg_handle_free(attr, ABT_ERR_INV_MUTEX_ATTR);
}

int ABT_mutex_attr_set_recursive(ABT_mutex_attr attr, ABT_bool recursive)
{
    if (!AMG_GIVEN(attr))
        return ABT_ERR_INV_MUTEX_ATTR;
    attr->is_recursive = recursive == ABT_FALSE ? ABT_FALSE : ABT_TRUE;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_get_recursive(ABT_mutex_attr attr, ABT_bool *recursive)
{
    if (!AMG_GIVEN(attr))
        return ABT_ERR_INV_MUTEX_ATTR;
    if (!AMG_GIVEN(recursive))
        return ABT_ERR_INV_ARG;
    *recursive = attr->is_recursive;
    return ABT_SUCCESS;
}

int ABT_mutex_get_attr(ABT_mutex mutex, ABT_mutex_attr *attr)
{
    if (!AMG_GIVEN(mutex))
        return ABT_ERR_INV_MUTEX;
    if (!AMG_GIVEN(attr))
        return ABT_ERR_INV_ARG;
    return attr_create(mutex->is_recursive ? ABT_TRUE : ABT_FALSE, attr);
}

int ABT_mutex_create_with_attr(ABT_mutex_attr attr, ABT_mutex *newmutex)
{
    ABT_mutex mutex = NULL;

    amg_handle_clear(newmutex);
    if (!AMG_GIVEN(newmutex))
        return ABT_ERR_INV_ARG;
    mutex = amg_mem_zalloc(sizeof(*mutex));
    if (mutex == NULL)
        return ABT_ERR_MEM;
    mutex->is_recursive =
        attr != ABT_MUTEX_ATTR_NULL && attr->is_recursive == ABT_TRUE;
    *newmutex = mutex;
    return ABT_SUCCESS;
}

int ABT_mutex_create(ABT_mutex *newmutex)
{
    return ABT_mutex_create_with_attr(ABT_MUTEX_ATTR_NULL, newmutex);
}

static bool mutex_is_idle(void *object)
{
    ABT_mutex mutex = object;
    bool is_idle = false;

    amg_lock_lock(&mutex->lock);
    is_idle = amg_waiters_is_empty(&mutex->waiters) && !mutex->is_waking;
    amg_lock_unlock(&mutex->lock);
    return is_idle;
}

int ABT_mutex_free(ABT_mutex *mutex)
{
    return amg_sync_free(
        __func__, mutex, ABT_ERR_INV_MUTEX, ABT_ERR_MUTEX, mutex_is_idle);
}

int ABT_mutex_lock(ABT_mutex mutex)
{
    return mutex_lock(__func__, mutex, 0);
}

int ABT_mutex_lock_low(ABT_mutex mutex)
{
    return mutex_lock(__func__, mutex, 0);
}

int ABT_mutex_lock_high(ABT_mutex mutex)
{
    return mutex_lock(__func__, mutex, 0);
}

int ABT_mutex_spinlock(ABT_mutex mutex)
{
    return mutex_lock(__func__, mutex, SPINLOCK_LOOKS);
}

int ABT_mutex_trylock(ABT_mutex mutex)
{
    bool is_taken = false;

    if (!AMG_GIVEN(mutex))
        return ABT_ERR_INV_MUTEX;
    if (acquire_again(mutex))
        return ABT_SUCCESS;
    is_taken = try_acquire(mutex);
    if (!is_taken && word_of(mutex) == AMG_MUTEX_PASSED) {
        amg_lock_lock(&mutex->lock);
        if (word_of(mutex) == AMG_MUTEX_PASSED) {
            store_held_locked(mutex);
            is_taken = true;
        }
        amg_lock_unlock(&mutex->lock);
    }
    if (!is_taken)
        return ABT_ERR_MUTEX_LOCKED;
    if (mutex->is_recursive)
        owner_set(mutex, caller_id());
    return ABT_SUCCESS;
}

int ABT_mutex_unlock(ABT_mutex mutex)
{
    bool was_held = false;

    if (!AMG_GIVEN(mutex))
        return ABT_ERR_INV_MUTEX;
    if (mutex->is_recursive) {
        if (!AMG_CONTRACT(is_owner(mutex),
                "the caller does not hold the mutex %p", (void *)mutex))
            return ABT_ERR_INV_THREAD;
        if (mutex->depth > 0) {
            mutex->depth--;
            return ABT_SUCCESS;
        }
        owner_set(mutex, 0);
    }
    was_held = release(mutex);
    return AMG_CONTRACT(was_held, "the mutex %p is not locked", (void *)mutex)
               ? ABT_SUCCESS
               : ABT_ERR_MUTEX;
}

int ABT_mutex_unlock_se(ABT_mutex mutex)
{
    return ABT_mutex_unlock(mutex);
}

int ABT_mutex_unlock_de(ABT_mutex mutex)
{
    return ABT_mutex_unlock(mutex);
}

int ABT_mutex_equal(ABT_mutex mutex1, ABT_mutex mutex2, ABT_bool *result)
{
    if (!AMG_GIVEN(result))
        return ABT_ERR_INV_ARG;
    *result = mutex1 == mutex2 ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

/* A waiter of a condition enters the queue before it unlocks its mutex, so that
 * no signal made under that mutex is missed. When the waiter unlocks the mutex,
 * it does not hold the condition's lock, so a signal may come before the waiter
 * has parked. Such a signal only sets `is_signaled` of the waiter, which then
 * does not park.
 *
 * A signaled waiter touches the condition again, unless it was parked without a
 * deadline. `inside` counts the waiters that may touch the condition again. If
 * no waiter is queued, ABT_cond_free() waits until `inside` is 0. */

/* A condition, behind ABT_cond; a condition of zeros has no waiters. Owned by
 * its creator, or by the owner of its memory. `lock` guards all fields. */
struct ABT_cond_opaque {
    uint64_t kind; /* 0, as there is only one kind */
    struct amg_lock lock;
    unsigned inside; /* waiters that may touch the condition again */
    struct amg_list waiters;
    ABT_mutex mutex; /* of the waiters; NULL: no waiter */
};

_Static_assert(sizeof(struct ABT_cond_opaque) <= sizeof(ABT_cond_memory),
    "a condition fits into the memory that abt.h gives it");

/* Waiter, on the stack of its thread; guarded by the condition's `lock`. */
struct cond_waiter {
    struct amg_waiter waiter;
    bool is_parked;
    bool is_signaled;
    bool returns; /* has a deadline: touches the condition after the unpark */
};

/* Enters the queue; false: other threads wait there with another mutex. */
static bool cond_enter(ABT_cond cond, ABT_mutex mutex, struct cond_waiter *self)
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

/* Waiters have left the queue: forgets the mutex if no waiter is left. */
static void cond_shrunk_locked(ABT_cond cond)
{
    AMG_ASSERT_HELD(&cond->lock);
    if (amg_waiters_is_empty(&cond->waiters))
        cond->mutex = NULL;
}

/* Waits for a signal. False: `*deadline_ns` came first; NULL: no deadline. */
static bool cond_sleep(
    ABT_cond cond, struct cond_waiter *self, const uint64_t *deadline_ns)
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
    ABT_cond cond, ABT_mutex mutex, const uint64_t *deadline_ns)
{
    struct cond_waiter self = {.returns = deadline_ns != NULL};
    bool is_signaled = false;
    bool is_first_mutex = false;
    unsigned depth = 0;
    const char *call =
        deadline_ns != NULL ? "ABT_cond_timedwait" : "ABT_cond_wait";

    if (!AMG_CONTRACT_OF(call, cond != NULL, "the condition is NULL"))
        return ABT_ERR_INV_COND;
    if (!AMG_CONTRACT_OF(call, mutex != NULL, "the mutex is NULL"))
        return ABT_ERR_INV_MUTEX;
    if (!AMG_CONTRACT_OF(call, !amg_ult_caller_is_task(),
            "the caller is a tasklet, which cannot wait"))
        return ABT_ERR_COND;
    if (!AMG_CONTRACT_OF(call, mutex_is_held_by_caller(mutex),
            "the caller does not hold the mutex %p", (void *)mutex))
        return ABT_ERR_MUTEX;
    amg_waiter_init(&self.waiter);
    is_first_mutex = cond_enter(cond, mutex, &self);
    if (!AMG_CONTRACT_OF(call, is_first_mutex,
            "threads wait for the condition with another mutex than %p",
            (void *)mutex))
        return ABT_ERR_INV_MUTEX;
    depth = mutex_unlock_all(mutex);
    is_signaled = cond_sleep(cond, &self, deadline_ns);
    /* A cancelled thread must end here, not with the mutex acquired. */
    if (!is_signaled && amg_ult_self() != NULL)
        amg_ult_check_cancel(amg_ult_self());
    mutex_lock_all(mutex, depth);
    return is_signaled ? ABT_SUCCESS : ABT_ERR_COND_TIMEDOUT;
}

/* Removes the first waiter from the queue and signals that waiter. If parked,
 * the waiter goes to `taken`, for amg_waiters_wake(). False: no waiter. */
static bool cond_signal_locked(ABT_cond cond, struct amg_waiters_taken *taken)
{
    struct amg_waiter *waiter = amg_waiters_pop(&cond->waiters);
    struct cond_waiter *first = NULL;

    AMG_ASSERT_HELD(&cond->lock);
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
    if (!AMG_GIVEN(newcond))
        return ABT_ERR_INV_ARG;
    return amg_handle_create(newcond, sizeof(struct ABT_cond_opaque));
}

/* Is the queue empty? If so, first waits until signaled waiters have left. */
static bool cond_is_idle(void *object)
{
    ABT_cond cond = object;
    bool is_idle = false;

    amg_lock_lock(&cond->lock);
    is_idle = cond->mutex == NULL;
    for (unsigned tries = 0; is_idle && cond->inside > 0; tries++) {
        amg_lock_unlock(&cond->lock);
        if (amg_ult_self() == NULL)
            amg_back_off(tries);
        else
            (void)ABT_thread_yield();
        amg_lock_lock(&cond->lock);
    }
    amg_lock_unlock(&cond->lock);
    return is_idle;
}

int ABT_cond_free(ABT_cond *cond)
{
    return amg_sync_free(
        __func__, cond, ABT_ERR_INV_COND, ABT_ERR_COND, cond_is_idle);
}

int ABT_cond_wait(ABT_cond cond, ABT_mutex mutex)
{
    return cond_wait(cond, mutex, NULL);
}

int ABT_cond_timedwait(
    ABT_cond cond, ABT_mutex mutex, const struct timespec *abstime)
{
    uint64_t deadline_ns = 0;

    if (!AMG_CONTRACT(amg_timespec_is_valid(abstime),
            "abstime is NULL, or its tv_nsec is not 0 to 999999999"))
        return ABT_ERR_INV_ARG;
    deadline_ns = amg_timespec_deadline_ns(abstime);
    return cond_wait(cond, mutex, &deadline_ns);
}

int ABT_cond_signal(ABT_cond cond)
{
    struct amg_waiters_taken taken = {NULL, NULL};

    if (!AMG_GIVEN(cond))
        return ABT_ERR_INV_COND;
    amg_lock_lock(&cond->lock);
    (void)cond_signal_locked(cond, &taken);
    amg_lock_unlock(&cond->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}

int ABT_cond_broadcast(ABT_cond cond)
{
    struct amg_waiters_taken taken = {NULL, NULL};

    if (!AMG_GIVEN(cond))
        return ABT_ERR_INV_COND;
    amg_lock_lock(&cond->lock);
    while (cond_signal_locked(cond, &taken)) {
    }
    amg_lock_unlock(&cond->lock);
    amg_waiters_wake(taken);
    return ABT_SUCCESS;
}
