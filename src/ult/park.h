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
 * and the caller that makes it true takes the waiter off the list under the
 * lock, and calls amg_unpark(). A list of zeros is empty, so that objects may
 * have static initialisers.
 *
 * Objects whose memory may be freed as soon as a waiter continues (an eventual
 * on the stack of the waiting thread) wake their waiters in two steps: remove
 * all under the lock, unlock, wake. A caller that returns from a wait without
 * having parked has held the lock, and so knows that its former holder is done.
 */
#ifndef AMG_ULT_PARK_H
#define AMG_ULT_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"
#include "ult/ready_pool.h"
#include "ult/xstream_local.h"

enum amg_waiter_word {
    AMG_WAITER_WAITS,
    AMG_WAITER_SLEEPS, /* a system call is needed to wake it */
    AMG_WAITER_WOKEN,
};

/* Lies on the stack of the caller that waits. */
struct amg_waiter {
    struct amg_link link; /* for the list of what is waited for */
    struct amg_ult *ult;  /* NULL: an OS thread, or a tasklet */
    atomic_uint word;     /* of enum amg_waiter_word: futex of an OS thread */
};

/* For the caller. */
static inline void amg_waiter_init(struct amg_waiter *waiter)
{
    waiter->link = (struct amg_link){.next = NULL};
    waiter->ult = amg_ult_self();
    atomic_init(&waiter->word, AMG_WAITER_WAITS);
}

/* Unparks it; once for each park, by any thread, preferably without the lock.
 * The waiter is off its list, and its memory may be freed afterwards. */
static inline void amg_unpark(struct amg_waiter *waiter)
{
    struct amg_ult *ult = waiter->ult;

    if (ult != NULL) {
        amg_ult_make_ready(ult);
        return;
    }
    /* Release: what was done before is seen by the waiter. */
    if (atomic_exchange_explicit(&waiter->word, AMG_WAITER_WOKEN,
            memory_order_acq_rel) == AMG_WAITER_SLEEPS)
        amg_futex_wake(&waiter->word, 1);
}

static inline void amg_waiters_ready(struct amg_list *list)
{
    if (list->head.next == NULL)
        amg_list_init(list);
}

static inline bool amg_waiters_is_empty(const struct amg_list *list)
{
    return amg_list_first(list) == NULL;
}

static inline void amg_waiters_push(
    struct amg_list *list, struct amg_waiter *waiter)
{
    amg_waiters_ready(list);
    amg_list_push(list, &waiter->link);
}

static inline void amg_waiters_push_front(
    struct amg_list *list, struct amg_waiter *waiter)
{
    amg_waiters_ready(list);
    amg_list_push_front(list, &waiter->link);
}

/* The oldest waiter, or NULL. */
static inline struct amg_waiter *amg_waiters_first(const struct amg_list *list)
{
    struct amg_link *link = amg_list_first(list);

    return link == NULL ? NULL
                        : amg_container_of(link, struct amg_waiter, link);
}

static inline struct amg_waiter *amg_waiters_pop(struct amg_list *list)
{
    struct amg_waiter *waiter = amg_waiters_first(list);

    if (waiter != NULL)
        amg_list_remove(&waiter->link);
    return waiter;
}

/* Waiters that were removed from their list, but not unparked yet, linked by
 * `prev`, which a link on no list does not use. Zeros: none. */
struct amg_waiters_taken {
    struct amg_waiter *first;
    struct amg_waiter *last;
};

static inline void amg_waiters_add(
    struct amg_waiters_taken *taken, struct amg_waiter *waiter)
{
    waiter->link.prev = NULL;
    if (taken->last == NULL)
        taken->first = waiter;
    else
        taken->last->link.prev = &waiter->link;
    taken->last = waiter;
}

static inline struct amg_waiters_taken amg_waiters_take_all(
    struct amg_list *list)
{
    struct amg_waiters_taken taken = {NULL, NULL};
    struct amg_waiter *waiter = NULL;

    while ((waiter = amg_waiters_pop(list)) != NULL)
        amg_waiters_add(&taken, waiter);
    return taken;
}

/* Without the lock. */
static inline void amg_waiters_wake(struct amg_waiters_taken taken)
{
    struct amg_waiter *waiter = taken.first;

    while (waiter != NULL) {
        struct amg_link *next = waiter->link.prev;

        amg_unpark(waiter);
        waiter = next == NULL ? NULL
                              : amg_container_of(next, struct amg_waiter, link);
    }
}

/* Lives from set until cancel has returned, usually on the stack of the caller.
 * Only park.c accesses the fields, and writes them under its lock. */
struct amg_timeout {
    struct amg_heap_node node; /* by its moment */
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

/* Once for each set, by a caller that holds none of the locks expire() takes.
 * True: it has not expired, and will not. False: expire() was called, and has
 * returned. */
bool amg_timeout_cancel(struct amg_timeout *timeout);

/* When the next one expires: the moment of amg_clock_ns(), 0 while one does, or
 * AMG_NO_DEADLINE when none is set. */
uint64_t amg_timeout_next_ns(void);

/* Ends the thread; by ABT_finalize(), when none is set. It starts again with
 * the next set. */
void amg_timeout_fini(void);

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
