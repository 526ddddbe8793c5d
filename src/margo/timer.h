/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of an instance, which its loop fires. */
#ifndef AMG_MARGO_TIMER_H
#define AMG_MARGO_TIMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/lock.h"
#include "margo/instance.h"

/* Something that happens at a moment, once. Lies in what it belongs to: a
 * request, the stack of who sleeps, a timer of the program's. From arm until it
 * fires, or is taken back, it is this file's. */
struct amg_margo_timer {
    struct amg_heap_node node; /* its key: amg_clock_ns() when it is due */
    /* By a loop, with no lock held; `is_due` is false when the instance ends
     * before. Its memory may be gone when this returns. */
    void (*fire)(struct amg_margo_timer *timer, bool is_due);
    bool is_armed;
};

struct amg_margo_timers {
    struct amg_lock lock; /* guards the heap, is_closed, and is_armed of each */
    struct amg_heap heap;
    bool is_closed; /* nothing fires any more */
    /* Whose fire() runs now, by the loop and by its standby; compared only. The
     * release stores (NULL) pair with the acquire loads of who waits for that.
     */
    _Atomic(struct amg_margo_timer *) firing[AMG_MARGO_LOOP_COUNT];
};

void amg_margo_timers_init(margo_instance_id mid);
/* Fires all that are left as not due, and lets no more in. The loop has
 * stopped. */
void amg_margo_timers_fini(margo_instance_id mid);

/* Has it fired at the moment `due_ns`; `fire` is set. Any thread. False: the
 * instance has ended, nothing will fire. */
bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns);

/* Takes it back. False: it was not armed, or has fired, and that function has
 * returned, unless the caller runs in it. Any thread; a user-level thread
 * leaves its stream to others while it waits. */
bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer);

/* By the loop: runs, or hands to their pools, all that are due. */
void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns);

/* `timeout_ms` from now, of amg_clock_ns(). */
uint64_t amg_margo_timer_due_ns(double timeout_ms);

#endif
