/* SPDX-License-Identifier: BSD-3-Clause */
/* Park and unpark of threads: a user-level thread leaves its execution stream
 * to other threads, an OS thread blocks on a futex. */
#include "ult/park.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/process.h"
#include "ult/switch_to.h"

int amg_sync_free(const char *call, void *ret_handle, int none_code,
    int busy_code, bool (*is_idle)(void *object))
{
    void *object = NULL;

    if (ret_handle != NULL)
        memcpy(&object, ret_handle, sizeof(object));
    if (object == NULL) {
        (void)amg_contract_gone(call, "object", NULL);
        return ret_handle == NULL ? ABT_ERR_INV_ARG : none_code;
    }
    if (!AMG_CONTRACT_OF(
            call, is_idle(object), "threads wait for the object %p", object))
        return busy_code;
    return amg_handle_free(ret_handle, none_code);
}

/* Timeouts, and the thread that blocks until the next timeout. A new timeout
 * wakes the thread only if no other timeout is earlier. */

/* Bytes of the thread's stack; expire() locks, wakes a thread, or logs. */
#define STACK_BYTES ((size_t)256 * 1024)

/* Timeouts of the process. */
static struct {
    struct amg_lock lock;         /* guards all but `news` */
    struct amg_heap heap;         /* by deadline */
    struct amg_timeout *expiring; /* timeout whose expire() is running */
    pthread_t thread;
    bool has_thread;
    bool is_ending;
    /* The futex word on which the thread sleeps; incremented under the lock
     * when the thread has to check again. */
    atomic_uint news;
} all;

static struct amg_timeout *first_locked(void)
{
    AMG_ASSERT_HELD(&all.lock);
    return all.heap.first == NULL
               ? NULL
               : amg_container_of(all.heap.first, struct amg_timeout, node);
}

static void remove_locked(struct amg_timeout *timeout)
{
    AMG_ASSERT_HELD(&all.lock);
    AMG_ASSERT(timeout->is_set);
    amg_heap_remove(&all.heap, &timeout->node);
    timeout->is_set = false;
}

/* Expires the first timeout, if its time has come. Unlocks during expire().
 * False: no timeout has expired. */
static bool expire_first_locked(void)
{
    struct amg_timeout *timeout = first_locked();

    AMG_ASSERT_HELD(&all.lock);
    if (timeout == NULL || timeout->node.key > amg_clock_ns())
        return false;
    remove_locked(timeout);
    all.expiring = timeout;
    amg_lock_unlock(&all.lock);
    timeout->expire(timeout);
    amg_lock_lock(&all.lock);
    /* Only now may amg_timeout_cancel() return, and `timeout` be freed. */
    all.expiring = NULL;
    return true;
}

static void *thread_run(void *arg)
{
    amg_role.is_library_thread = true;
    amg_lock_lock(&all.lock);
    while (!all.is_ending) {
        unsigned seen = 0;
        uint64_t until_ns = AMG_NO_DEADLINE;

        if (expire_first_locked())
            continue;
        seen = atomic_load_explicit(&all.news, memory_order_relaxed);
        if (first_locked() != NULL)
            until_ns = first_locked()->node.key;
        amg_lock_unlock(&all.lock);
        (void)amg_futex_wait_until(&all.news, seen, until_ns);
        amg_lock_lock(&all.lock);
    }
    amg_lock_unlock(&all.lock);
    return arg;
}

/* Starts the thread unless it runs. False: the thread cannot be started. */
static bool start_locked(void)
{
    pthread_attr_t attr;
    sigset_t every;
    sigset_t before;
    int err = 0;

    AMG_ASSERT_HELD(&all.lock);
    if (all.has_thread)
        return true;
    err = pthread_attr_init(&attr);
    if (err != 0)
        return false;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    all.is_ending = false;
    /* Blocks all signals in the new thread; the program's threads take them. */
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    err = pthread_create(&all.thread, &attr, thread_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    all.has_thread = err == 0;
    if (err == 0)
        (void)pthread_setname_np(all.thread, "amalgam timeout");
    return all.has_thread;
}

/* Makes the thread check the timeouts again. The caller then wakes `news`. */
static void notify_locked(void)
{
    AMG_ASSERT_HELD(&all.lock);
    atomic_fetch_add_explicit(&all.news, 1, memory_order_relaxed);
}

bool amg_timeout_set(struct amg_timeout *timeout, uint64_t deadline_ns,
    void (*expire)(struct amg_timeout *timeout))
{
    bool is_set = false;
    bool is_first = false;

    timeout->node.key = deadline_ns;
    timeout->expire = expire;
    amg_lock_lock(&all.lock);
    is_set = start_locked();
    timeout->is_set = is_set;
    if (is_set) {
        amg_heap_push(&all.heap, &timeout->node);
        is_first = first_locked() == timeout;
    }
    if (is_first)
        notify_locked();
    amg_lock_unlock(&all.lock);
    if (is_first)
        amg_futex_wake(&all.news, 1);
    if (!is_set)
        AMG_LOG_ERROR("ult", "cannot start the thread that ends timed waits; "
                             "is there a limit on threads (ulimit -u)?");
    return is_set;
}

bool amg_timeout_cancel(struct amg_timeout *timeout)
{
    bool is_first_time = false;

    amg_lock_lock(&all.lock);
    is_first_time = timeout->is_set;
    if (is_first_time)
        remove_locked(timeout);
    for (unsigned tries = 0; all.expiring == timeout; tries++) {
        amg_lock_unlock(&all.lock);
        amg_back_off(tries);
        amg_lock_lock(&all.lock);
    }
    amg_lock_unlock(&all.lock);
    return is_first_time;
}

uint64_t amg_timeout_next_ns(void)
{
    uint64_t next_ns = AMG_NO_DEADLINE;

    amg_lock_lock(&all.lock);
    if (all.expiring != NULL)
        next_ns = 0;
    else if (first_locked() != NULL)
        next_ns = first_locked()->node.key;
    amg_lock_unlock(&all.lock);
    return next_ns;
}

void amg_timeout_fini(void)
{
    bool has_thread = false;

    amg_lock_lock(&all.lock);
    AMG_ASSERT(first_locked() == NULL);
    has_thread = all.has_thread;
    all.has_thread = false;
    all.is_ending = true;
    notify_locked();
    amg_lock_unlock(&all.lock);
    if (!has_thread)
        return;
    amg_futex_wake(&all.news, 1);
    pthread_join(all.thread, NULL);
}

void amg_timeout_inherit(void)
{
    amg_lock_init(&all.lock);
    all.heap.first = NULL;
    all.expiring = NULL;
    all.has_thread = false;
}

#define NS_PER_S 1000000000ull

/* Polls before the futex call: in all 1 to 2 us, the time of that call. */
enum { LOOKS = 64 };

/* Acquire: pairs with the exchange of amg_unpark(). */
static bool is_woken(const struct amg_waiter *waiter)
{
    return atomic_load_explicit(&waiter->word, memory_order_acquire) ==
           AMG_WAITER_WOKEN;
}

/* Blocks the OS thread until unparked. False: the deadline has come first. */
static bool thread_sleep(struct amg_waiter *waiter, uint64_t deadline_ns)
{
    unsigned waits = AMG_WAITER_WAITS;

    for (unsigned i = 0; i < LOOKS; i++) {
        if (is_woken(waiter))
            return true;
        amg_relax();
    }
    /* Fails if the waiter is WOKEN, or SLEEPS already. */
    (void)atomic_compare_exchange_strong_explicit(&waiter->word, &waits,
        AMG_WAITER_SLEEPS, memory_order_acquire, memory_order_acquire);
    while (!is_woken(waiter))
        if (!amg_futex_wait_until(
                &waiter->word, AMG_WAITER_SLEEPS, deadline_ns))
            return is_woken(waiter);
    return true;
}

void amg_park(struct amg_waiter *waiter, struct amg_lock *lock)
{
    if (waiter->ult != NULL) {
        amg_ult_switch(waiter->ult, AMG_SWITCH_PARK, lock);
        return;
    }
    amg_lock_unlock(lock);
    (void)thread_sleep(waiter, AMG_NO_DEADLINE);
}

void amg_park_biased(struct amg_ult *self, struct amg_bias *lock)
{
    self->biased = lock;
    amg_ult_switch(self, AMG_SWITCH_PARK, NULL);
}

/* Removes the waiter from its list; false: another thread has done so. */
static bool waiter_withdraw(struct amg_waiter *waiter, struct amg_lock *lock)
{
    bool is_listed = false;

    amg_lock_lock(lock);
    is_listed = amg_link_is_listed(&waiter->link);
    if (is_listed)
        amg_list_remove(&waiter->link);
    amg_lock_unlock(lock);
    return is_listed;
}

/* The timeout of a parked thread; on the stack of that thread. */
struct park_timeout {
    struct amg_timeout timeout;
    struct amg_waiter *waiter;
    struct amg_lock *lock;
    bool has_come; /* the timeout has ended the park; set before the unpark */
};

static void park_expire(struct amg_timeout *timeout)
{
    struct park_timeout *park = (struct park_timeout *)(void *)timeout;

    if (!waiter_withdraw(park->waiter, park->lock))
        return;
    park->has_come = true;
    amg_unpark(park->waiter);
}

bool amg_park_until(
    struct amg_waiter *waiter, struct amg_lock *lock, uint64_t deadline_ns)
{
    struct park_timeout park = {.waiter = waiter, .lock = lock};

    if (deadline_ns == AMG_NO_DEADLINE) {
        amg_park(waiter, lock);
        return true;
    }
    if (waiter->ult != NULL && deadline_ns <= amg_clock_ns()) {
        amg_list_remove(&waiter->link);
        amg_lock_unlock(lock);
        /* Yields: a caller that tries again and again would otherwise keep the
         * other threads of this xstream from running. */
        amg_ult_yield(waiter->ult);
        return false;
    }
    /* NOTE(why): sets the timeout while `lock` is held. park_expire() takes
     * `lock`, so it cannot wake the thread before the thread left its stack.
     * No deadlock: park_expire() runs without the lock of the timeouts. */
    if (waiter->ult != NULL &&
        amg_timeout_set(&park.timeout, deadline_ns, park_expire)) {
        amg_ult_switch(waiter->ult, AMG_SWITCH_PARK, lock);
        (void)amg_timeout_cancel(&park.timeout);
        return !park.has_come;
    }
    /* An OS thread, or a ULT whose timeout was not set, blocks on its futex. */
    waiter->ult = NULL;
    amg_lock_unlock(lock);
    if (thread_sleep(waiter, deadline_ns))
        return true;
    if (waiter_withdraw(waiter, lock))
        return false;
    /* The caller that removed the waiter is about to wake it. */
    (void)thread_sleep(waiter, AMG_NO_DEADLINE);
    return true;
}

bool amg_timespec_is_valid(const struct timespec *abstime)
{
    return abstime != NULL && abstime->tv_nsec >= 0 &&
           abstime->tv_nsec < (long)NS_PER_S;
}

uint64_t amg_timespec_deadline_ns(const struct timespec *abstime)
{
    struct timespec now;
    int64_t left_s = 0;
    int64_t left_ns = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    left_s = (int64_t)abstime->tv_sec - (int64_t)now.tv_sec;
    left_ns = (int64_t)abstime->tv_nsec - (int64_t)now.tv_nsec;
    if (left_s > (int64_t)(INT64_MAX / NS_PER_S / 2))
        return AMG_NO_DEADLINE;
    if (left_s < -1)
        return 0;
    left_ns += left_s * (int64_t)NS_PER_S;
    return left_ns <= 0 ? 0 : amg_clock_ns() + (uint64_t)left_ns;
}
