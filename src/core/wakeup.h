/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking and wake-up of the threads that wait for a context. */
#ifndef AMG_CORE_WAKEUP_H
#define AMG_CORE_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "core/cq.h"
#include "mercury_types.h"

/* Owned by its context. */
struct amg_wakeup {
    struct amg_lock lock; /* held to create the descriptors below */
    /* Epoll descriptor of each waiter, for its doorbell (in `event_fds`) and
     * all endpoints with a descriptor; -1: not created yet, -2: failed. The
     * creator's release store pairs with the acquire in amg_wakeup_fd(). */
    atomic_int fds[AMG_CQ_WAITERS];
    int event_fds[AMG_CQ_WAITERS];
    /* Some endpoint reports events only when polled. Constant. */
    bool is_not_pollable;
    /* is_not_pollable for threads of the library, which skip the endpoints that
     * only the program's threads may progress. Constant. */
    bool is_thread_not_pollable;
    /* Of the owner: a peer shared its core at the last check. */
    bool is_oversubscribed;
    /* Of the owner: time at which the quiet time began, also for the next wait;
     * 0: an event came. */
    uint64_t quiet_since_ns;
    /* Of the owner: time of the next amg_context_show(). */
    uint64_t show_ns;
    /* Counts polls in which a peer made progress (amg_context_moved()). Written
     * by the owner; a hint, so relaxed. */
    atomic_uint moves;
    bool has_ticks; /* see amg_context_begin_ticks(); constant */
    /* An operation was posted since a wait last read this flag; a hint, so
     * relaxed. */
    atomic_bool was_posted;
};

/* Reason why a sleep ended. */
enum amg_wakeup_reason {
    AMG_WAKEUP_TIMEOUT, /* the time was reached */
    AMG_WAKEUP_SIGNAL,  /* a thread of this process rang the doorbell */
    AMG_WAKEUP_EVENT,   /* the descriptor of an endpoint was ready */
};

/* init() is called after the endpoints open, fini() before they close. */
void amg_wakeup_init(hg_context_t *context);
void amg_wakeup_fini(hg_context_t *context);

/* The descriptor of `who`, created on first use; -1, and one line in the log,
 * if the process has no descriptor left. Any thread. */
int amg_wakeup_fd(hg_context_t *context, enum amg_cq_who who);

/* Announces to all event sources that `who` is about to block. By the progress
 * owner. False: there was an event since `epoch`, or an entry is queued; the
 * next poll disarms the endpoints that were armed already. */
bool amg_wakeup_arm(hg_context_t *context, enum amg_cq_who who, unsigned epoch);

/* By an armed waiter: blocks until its descriptor reports an event, or the time
 * is reached; then disarms. The progress thread is not the owner meanwhile. */
enum amg_wakeup_reason amg_wakeup_block(
    hg_context_t *context, enum amg_cq_who who, uint64_t until_ns);

/* By the thread of standby.c: sleeps until signalled, or until `until_ns`. */
void amg_wakeup_timed_wait(hg_context_t *context, uint64_t until_ns);

/* Ends the sleep of `who`, also a sleep that is about to begin. */
void amg_wakeup_wake(hg_context_t *context, enum amg_cq_who who);

/* By the progress owner: blocks until an event, or until the time is reached.
 * Returns at once if there was an event since `epoch`, or context->ran is not
 * `ran` any more. */
void amg_wakeup_block_until(
    hg_context_t *context, unsigned epoch, unsigned ran, uint64_t until_ns);

/* By a thread in a list of waiters that has cleared its word and then looked
 * for work: sleeps until the thread is woken. False: the time is reached. */
bool amg_wakeup_sleep(struct amg_cq_waiter *waiter, uint64_t until_ns);

/* By the progress owner, after an empty poll: does a peer that sends to this
 * context run on the owner's core? */
bool amg_wakeup_is_core_shared(hg_context_t *context);

#endif
