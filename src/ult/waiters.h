/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiters, and the list of the waiters of an object, guarded by the object's
 * lock. A list of zeros is empty, so that objects may have static initialisers.
 *
 * An object may be freed as soon as one waiter continues (an eventual on the
 * stack of the waiting thread). So the waker removes all waiters from the list
 * under the lock, unlocks, and only then wakes the waiters. A caller that need
 * not park learns this under the lock, once the waker has left the object. */
#ifndef AMG_ULT_WAITERS_H
#define AMG_ULT_WAITERS_H

#include "base/list.h"
#include "base/lock.h"
#include "ult/ready_pool.h"
#include "ult/xstream_local.h"

enum amg_waiter_word {
    AMG_WAITER_WAITS,
    AMG_WAITER_SLEEPS, /* a system call is needed for the wake-up */
    AMG_WAITER_WOKEN,
};

/* Lies on the stack of the caller that waits. */
struct amg_waiter {
    struct amg_link link; /* in the list of the object */
    struct amg_ult *ult;  /* NULL: an OS thread, or a tasklet */
    atomic_uint word;     /* of enum amg_waiter_word: futex of an OS thread */
};

/* Initialises a waiter of the calling thread. */
static inline void amg_waiter_init(struct amg_waiter *waiter)
{
    waiter->link = (struct amg_link){.next = NULL};
    waiter->ult = amg_ult_self();
    atomic_init(&waiter->word, AMG_WAITER_WAITS);
}

/* Unparks the waiter; called once for each park, by any thread, preferably
 * without the lock of the object. The waiter is on no list. Once unparked,
 * the thread that waited may free the waiter's memory. */
static inline void amg_unpark(struct amg_waiter *waiter)
{
    struct amg_ult *ult = waiter->ult;

    if (ult != NULL) {
        amg_ult_make_ready(ult);
        return;
    }
    /* Release: the waiter sees all writes before the unpark. */
    if (atomic_exchange_explicit(&waiter->word, AMG_WAITER_WOKEN,
            memory_order_acq_rel) == AMG_WAITER_SLEEPS)
        amg_futex_wake(&waiter->word, 1);
}

static inline void amg_waiters_init_lazily(struct amg_list *list)
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
    amg_waiters_init_lazily(list);
    amg_list_push(list, &waiter->link);
}

static inline void amg_waiters_push_front(
    struct amg_list *list, struct amg_waiter *waiter)
{
    amg_waiters_init_lazily(list);
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

/* Waiters that were removed from their list, but not unparked yet. Linked by
 * link.prev: `next` stays NULL, which says that a link is on no list. */
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

/* Unparks the taken waiters. Called without the lock of their list. */
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

#endif
