/* SPDX-License-Identifier: BSD-3-Clause */
/* Park and unpark: a user-level thread leaves its stack, an OS thread blocks on
 * the futex in its waiter. */
#include "ult/park.h"

#include "base/clock.h"
#include "base/lock.h"
#include "ult/switch_to.h"
#include "ult/timeout.h"

#define NS_PER_S 1000000000ull

/* About 1 to 2 us before the system call, which takes as long. */
enum { LOOKS = 64 };

/* Acquire: pairs with the exchange of amg_unpark(). */
static bool is_woken(const struct amg_waiter *waiter)
{
    return atomic_load_explicit(&waiter->word, memory_order_acquire) ==
           AMG_WAITER_WOKEN;
}

/* False: the deadline has come. */
static bool thread_sleep(struct amg_waiter *waiter, uint64_t deadline_ns)
{
    unsigned waits = AMG_WAITER_WAITS;

    for (unsigned i = 0; i < LOOKS; i++) {
        if (is_woken(waiter))
            return true;
        amg_relax();
    }
    /* Fails when it is woken already, or was announced before. */
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

/* The waiter leaves its list, unless it was taken off already. */
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
    bool has_come; /* written before the unpark that lets its reader go on */
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
        /* Or a caller that tries again and again keeps others from running. */
        amg_ult_switch(waiter->ult, AMG_SWITCH_YIELD, NULL);
        return false;
    }
    /* NOTE(why): called with the lock held, which expire() takes: the timeout
     * holds no lock of its own then, and the thread must not be woken before it
     * is announced. */
    if (waiter->ult != NULL &&
        amg_timeout_set(&park.timeout, deadline_ns, park_expire)) {
        amg_ult_switch(waiter->ult, AMG_SWITCH_PARK, lock);
        (void)amg_timeout_cancel(&park.timeout);
        return !park.has_come;
    }
    /* Without an timeout the whole xstream sleeps. */
    waiter->ult = NULL;
    amg_lock_unlock(lock);
    if (thread_sleep(waiter, deadline_ns))
        return true;
    if (waiter_withdraw(waiter, lock))
        return false;
    /* The caller that took it off is about to wake it. */
    (void)thread_sleep(waiter, AMG_NO_DEADLINE);
    return true;
}

bool amg_park_moment_is_good(const struct timespec *abstime)
{
    return abstime != NULL && abstime->tv_nsec >= 0 &&
           abstime->tv_nsec < (long)NS_PER_S;
}

uint64_t amg_park_moment(const struct timespec *abstime)
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
