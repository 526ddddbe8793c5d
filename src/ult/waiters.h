/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiters of one object, guarded by its lock. A list of zeros is empty, so
 * that objects may be made by static initialisers.
 *
 * Objects whose memory may be gone as soon as a waiter goes on (an eventual on
 * the stack of who waits for it) are woken in two steps: take all under the
 * lock, give the lock back, wake. Whoever returns from a wait without having
 * parked has held the lock, and so knows that its holder is done. */
#ifndef AMG_ULT_WAITERS_H
#define AMG_ULT_WAITERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/lock.h"
#include "ult/park.h"
#include "ult/ult.h"

static inline void amg_waiters_ready(struct amg_list *list)
{
    if (list->head.next == NULL)
        amg_list_init(list);
}

static inline bool amg_waiters_is_empty(const struct amg_list *list)
{
    return amg_list_first(list) == NULL;
}

/* By who is about to free what the lock and the list lie in: nobody waits any
 * more, and the last one that woke others has left. */
static inline bool amg_waiters_have_gone(
    struct amg_lock *lock, const struct amg_list *list)
{
    bool is_empty = false;

    amg_lock_take(lock);
    is_empty = amg_waiters_is_empty(list);
    amg_lock_give(lock);
    return is_empty;
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

/* The one that waits longest, or NULL. */
static inline struct amg_waiter *amg_waiters_first(const struct amg_list *list)
{
    struct amg_link *link = amg_list_first(list);

    return link == NULL ? NULL : AMG_OBJECT(link, struct amg_waiter, link);
}

static inline struct amg_waiter *amg_waiters_pop(struct amg_list *list)
{
    struct amg_waiter *waiter = amg_waiters_first(list);

    if (waiter != NULL)
        amg_list_remove(&waiter->link);
    return waiter;
}

/* Waits for its turn: the lock, which the caller holds, is given back. */
static inline void amg_waiters_wait(
    struct amg_list *list, struct amg_lock *lock)
{
    struct amg_waiter waiter;

    amg_waiter_init(&waiter);
    amg_waiters_push(list, &waiter);
    amg_park(&waiter, lock);
}

/* Waiters that were taken off their list and are yet to be unparked, linked by
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
        waiter =
            next == NULL ? NULL : AMG_OBJECT(next, struct amg_waiter, link);
    }
}

/* What runs on its scheduler's stack cannot wait for others of its stream. */
static inline bool amg_waiters_caller_is_task(void)
{
    const struct amg_ult *ult = amg_ult_current();

    return ult != NULL && ult->kind == AMG_ULT_TASKLET;
}

#endif
