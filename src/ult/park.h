/* SPDX-License-Identifier: BSD-3-Clause */
/* Park and unpark of threads: a user-level thread leaves its execution stream
 * to others, an OS thread blocks on a futex. An object to wait for (mutex,
 * eventual, join ...) keeps a list of waiters under its own lock:
 *
 *   struct amg_waiter waiter;
 *
 *   amg_lock_lock(&object->lock);
 *   if (must wait) {
 *       amg_waiter_init(&waiter);
 *       amg_waiters_push(&object->waiters, &waiter);
 *       amg_park(&waiter, &object->lock);           unlocks
 *   }
 *
 * and the caller that ends the wait removes the waiter from the list under the
 * lock, and calls amg_unpark(). */
#ifndef AMG_ULT_PARK_H
#define AMG_ULT_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/heap.h"
#include "ult/waiters.h"

/* Lives from set until cancel has returned, usually on the stack of the caller.
 * Only park.c accesses the fields, and writes them under its lock. */
struct amg_timeout {
    struct amg_heap_node node; /* by its time */
    void (*expire)(struct amg_timeout *timeout);
    bool is_set; /* in the heap */
};

/* A thread of its own, which the first timeout starts, calls expire(timeout)
 * when the moment of amg_clock_ns()
 * has come, with no lock of park.c held; it may take locks and unpark, and
 * must not block. False: there is no thread and none could be started; nothing
 * was set. */
bool amg_timeout_set(struct amg_timeout *timeout, uint64_t deadline_ns,
    void (*expire)(struct amg_timeout *timeout));

/* Called once for each set, by a caller that holds none of the locks of
 * expire(). True: it has not expired, and will not. False: expire() was called,
 * and has returned. */
bool amg_timeout_cancel(struct amg_timeout *timeout);

/* The time of amg_clock_ns() when the next one expires; 0 while one expires,
 * AMG_NO_DEADLINE if none is set. */
uint64_t amg_timeout_next_ns(void);

/* Ends the thread; called by ABT_finalize(), when no timeout is set. The next
 * set starts it again. */
void amg_timeout_fini(void);

/* In a child of fork(): none is set, and there is no thread. */
void amg_timeout_inherit(void);

/* Waits until unparked. The caller holds the lock, which is unlocked as soon as
 * the waiter may be unparked, and not locked again. */
void amg_park(struct amg_waiter *waiter, struct amg_lock *lock);

/* The same until a time of amg_clock_ns(). False: it has passed; the waiter is
 * then off its list, which the lock guards. */
bool amg_park_until(
    struct amg_waiter *waiter, struct amg_lock *lock, uint64_t deadline_ns);

/* The same for the calling thread `self` under a biased lock that it holds;
 * amg_ult_make_ready() unparks it, without a waiter on its stack. */
void amg_park_biased(struct amg_ult *self, struct amg_bias *lock);

/* A time of CLOCK_REALTIME given by the program: checks it, and converts it to
 * amg_clock_ns(). */
bool amg_timespec_is_valid(const struct timespec *abstime);
uint64_t amg_timespec_deadline_ns(const struct timespec *abstime);

enum amg_mutex_word {
    AMG_MUTEX_FREE,
    AMG_MUTEX_HELD,
    AMG_MUTEX_WANTED, /* held, and others wait */
    AMG_MUTEX_PASSED, /* free, but only to be acquired under the lock */
};

/* Zeros but for `is_recursive` make a free one. Owned by its creator, or by the
 * program whose memory it lies in. */
struct amg_mutex {
    uint64_t is_recursive; /* never changes */
    /* An amg_mutex_word. The acquire exchange that locks the mutex pairs with
     * the release store or exchange that unlocks it. */
    atomic_uint word;
    struct amg_lock lock; /* guards the two below, and word from WANTED on */
    bool is_waking;       /* a waiter was unparked, but has not run yet */
    struct amg_list waiters;
    /* Of a recursive one: its holder, which alone writes it, and how often that
     * took it again. */
    _Atomic(uintptr_t) owner;
    unsigned depth;
};

#endif
