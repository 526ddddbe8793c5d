/* SPDX-License-Identifier: BSD-3-Clause */
/* Park and unpark of threads: a user-level thread leaves its execution stream
 * to other threads, an OS thread blocks on a futex. An object to wait for
 * (mutex, eventual, join ...) keeps a list of waiters under its own lock:
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

/* A timeout lives until amg_timeout_cancel() has returned, usually on the stack
 * of the caller. Once set, only park.c accesses the timeout, with its lock. */
struct amg_timeout {
    struct amg_heap_node node; /* by deadline */
    void (*expire)(struct amg_timeout *timeout);
    bool is_set; /* in the heap */
};

/* Sets a timeout: at `deadline_ns` of amg_clock_ns(), the timeout thread of
 * park.c calls expire(timeout), with no lock of park.c held. expire() may take
 * locks and unpark, and must not block. The first timeout starts the thread.
 * False: the thread could not be started; nothing was set. */
bool amg_timeout_set(struct amg_timeout *timeout, uint64_t deadline_ns,
    void (*expire)(struct amg_timeout *timeout));

/* Called before a timeout that was set is freed, by a caller that holds no lock
 * that expire() takes. True: the timeout has not expired, and will not. False:
 * expire() was called, and has returned. */
bool amg_timeout_cancel(struct amg_timeout *timeout);

/* The time of amg_clock_ns() when the next timeout expires; 0 while expire()
 * runs, AMG_NO_DEADLINE if no timeout is set. */
uint64_t amg_timeout_next_ns(void);

/* Ends the timeout thread; called by ABT_finalize(), when no timeout is set. A
 * later amg_timeout_set() starts the thread again. */
void amg_timeout_fini(void);

/* In a child of fork(): forgets the timeouts and the thread of the parent. */
void amg_timeout_inherit(void);

/* Waits until unparked. The caller holds the lock, which amg_park() unlocks as
 * soon as the waiter may be unparked, and does not lock again. */
void amg_park(struct amg_waiter *waiter, struct amg_lock *lock);

/* amg_park() with a deadline of amg_clock_ns(). False: the deadline came, and
 * the waiter was removed from its list, which `lock` guards. */
bool amg_park_until(
    struct amg_waiter *waiter, struct amg_lock *lock, uint64_t deadline_ns);

/* Parks the calling thread `self`, which holds the biased `lock`, as amg_park()
 * does, but without a waiter: amg_ult_make_ready() unparks `self`. */
void amg_park_biased(struct amg_ult *self, struct amg_bias *lock);

/* The first function checks a CLOCK_REALTIME time that the program gave, the
 * second converts the time to amg_clock_ns(). */
bool amg_timespec_is_valid(const struct timespec *abstime);
uint64_t amg_timespec_deadline_ns(const struct timespec *abstime);

enum amg_mutex_word {
    AMG_MUTEX_FREE,
    AMG_MUTEX_HELD,
    AMG_MUTEX_WANTED, /* held, and threads wait */
    AMG_MUTEX_PASSED, /* free, but may be acquired only under the lock */
};

/* A mutex whose members are zero, except for `is_recursive`, is free. Owned by
 * its creator, or by the program whose memory has the mutex. */
struct ABT_mutex_opaque {
    uint64_t is_recursive; /* never changes */
    /* An amg_mutex_word. The acquire exchange that locks the mutex pairs with
     * the release store or exchange that unlocks it. */
    atomic_uint word;
    struct amg_lock lock; /* guards is_waking, waiters; `word` if >= WANTED */
    bool is_waking;       /* an unparked waiter has not tried `word` yet */
    struct amg_list waiters;
    /* Recursive mutex: id of the holder, which alone writes `owner`, and number
     * of locks by the holder beyond the first. */
    _Atomic(uintptr_t) owner;
    unsigned depth;
};

/* backtrace.c: logs where the threads are blocked that have stacks of the
 * library, 16 of them at most. By any OS thread. */
void amg_ult_log_blocked(void);

#endif
