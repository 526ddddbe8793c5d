/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts, and the thread that blocks until the next of them: a new one wakes
 * it only if it is the earliest. */
#include "ult/timeout.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/role.h"

/* Bytes of the thread's stack: expire() takes a lock and wakes a thread. */
#define STACK_BYTES ((size_t)256 * 1024)

/* Of the process. */
static struct {
    struct amg_lock lock;         /* guards all but `news` */
    struct amg_heap heap;         /* by their moments */
    struct amg_timeout *expiring; /* its function runs now */
    pthread_t thread;
    bool has_thread;
    bool is_ending;
    /* The futex word on which the thread sleeps; it grows, under the lock, when
     * the thread has to look again. */
    atomic_uint news;
} all;

static struct amg_timeout *first_locked(void)
{
    return all.heap.first == NULL
               ? NULL
               : amg_container_of(all.heap.first, struct amg_timeout, node);
}

static void remove_locked(struct amg_timeout *timeout)
{
    AMG_ASSERT(timeout->is_set);
    amg_heap_remove(&all.heap, &timeout->node);
    timeout->is_set = false;
}

/* Expires the first one, if its moment has come; the lock is held before and
 * after. */
static bool expire_first_locked(void)
{
    struct amg_timeout *timeout = first_locked();

    if (timeout == NULL || timeout->node.key > amg_clock_ns())
        return false;
    remove_locked(timeout);
    all.expiring = timeout;
    amg_lock_unlock(&all.lock);
    timeout->expire(timeout);
    amg_lock_lock(&all.lock);
    /* Only now may a caller that cancels it go on: it was there until here. */
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

/* With the lock held: a thread is there, or it is not to be had. */
static bool start_locked(void)
{
    pthread_attr_t attr;
    sigset_t every;
    sigset_t before;
    int err = 0;

    if (all.has_thread)
        return true;
    err = pthread_attr_init(&attr);
    if (err != 0)
        return false;
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    all.is_ending = false;
    /* Signals are for the program's threads. */
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

/* With the lock held: the thread is to look again. */
static void tell_locked(void)
{
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
        tell_locked();
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
        amg_lock_rest(tries);
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
    tell_locked();
    amg_lock_unlock(&all.lock);
    if (!has_thread)
        return;
    amg_futex_wake(&all.news, 1);
    pthread_join(all.thread, NULL);
}
