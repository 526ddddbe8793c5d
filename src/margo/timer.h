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

/* A one-shot timer. It lies in its owner: a request, the stack of a sleeping
 * thread, a timer of the program. From arm until it fires, or is disarmed,
 * timer.c owns it. */
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
    /* The timer whose fire() each loop runs now; compared only. The release
     * stores (NULL) pair with the acquire loads of a thread that waits for
     * that. */
    _Atomic(struct amg_margo_timer *) firing[AMG_MARGO_LOOP_COUNT];
};

void amg_margo_timers_init(margo_instance_id mid);
/* Fires the remaining ones as not due, and accepts no more. The loop has
 * stopped. */
void amg_margo_timers_fini(margo_instance_id mid);

/* Fires it at `due_ns`; `fire` is set. Any thread. False: the instance has
 * ended, no timer fires. */
bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns);

/* Disarms it. False: it was not armed, or has fired, and its function has
 * returned, unless the caller runs in it. Any thread; a user-level thread
 * leaves its stream to others while it waits. */
bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer);

/* Called by the loop: fires all that are due. */
void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns);

/* `timeout_ms` from now, of amg_clock_ns(). */
uint64_t amg_margo_timer_due_ns(double timeout_ms);

#endif
