/* SPDX-License-Identifier: BSD-3-Clause */
/* Park and unpark of threads: a user-level thread leaves its xstream to others,
 * an OS thread blocks on a futex. An object to wait for (mutex, eventual, join
 * ...) keeps a list of waiters under its own lock:
 *
 *   struct amg_waiter waiter;
 *
 *   amg_lock_lock(&object->lock);
 *   if (must wait) {
 *       amg_waiter_init(&waiter);
 *       amg_waiters_push(&object->waiters, &waiter);
 *       amg_park(&waiter, &object->lock);           gives the lock back
 *   }
 *
 * and the caller that makes it true takes the waiter off the list under the
 * lock, and calls amg_unpark(). */
#ifndef AMG_ULT_PARK_H
#define AMG_ULT_PARK_H

#include <time.h>

#include "ult/waiters.h"

/* Waits until unparked. The lock, which the caller holds, is given back when
 * the waiter can be unparked, and not taken again. */
void amg_park(struct amg_waiter *waiter, struct amg_lock *lock);

/* The same until a time of amg_clock_ns(). False: it has passed; the waiter is
 * then off its list, which the lock guards. */
bool amg_park_until(
    struct amg_waiter *waiter, struct amg_lock *lock, uint64_t deadline_ns);

/* The same for a thread that is known, and waits under a lock of the other
 * kind: the caller, which is `self`, holds it, and is unparked by
 * amg_ult_make_ready(). Nothing on its stack is needed for that. */
void amg_park_biased(struct amg_ult *self, struct amg_bias *lock);

/* A time of CLOCK_REALTIME given by the program: checks it, and converts it to
 * amg_clock_ns(). */
bool amg_park_moment_is_good(const struct timespec *abstime);
uint64_t amg_park_moment(const struct timespec *abstime);

#endif
