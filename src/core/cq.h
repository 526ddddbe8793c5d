/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished operations that wait for HG_Trigger(), and the
 * threads that wait for a context. Callers wait in two lists, in the order of
 * their waits; three further waiters block on a descriptor each. */
#ifndef AMG_CORE_CQ_H
#define AMG_CORE_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/bias.h"

/* Embedded in the finished object, so that queueing never allocates. */
struct amg_cq_entry {
    struct amg_link link;
    void (*run)(struct amg_cq_entry *); /* called without locks */
    /* A call of a peer, or a callback that follows from such a call. */
    bool is_incoming;
    bool is_fetching; /* arguments are being pulled: see rpc/order.c */
};

/* Waiters that can block on a doorbell, an event descriptor of their own. */
enum amg_cq_who {
    AMG_CQ_OWNER,  /* the progress owner */
    AMG_CQ_LOOP,   /* the event loop of the program */
    AMG_CQ_THREAD, /* the thread of standby.c, while not the owner */
    AMG_CQ_WAITERS
};

/* Aim of a thread in a list. */
enum amg_waits {
    AMG_WAITS_TO_OWN,    /* in HG_Progress(), while another thread is owner */
    AMG_WAITS_FOR_ENTRY, /* in HG_Trigger() */
    AMG_WAITS_KINDS
};

/* Wake word of a waiter in a list. */
enum amg_cq_waiter_word {
    AMG_CQ_WAITER_LOOKS,  /* the thread looks for work */
    AMG_CQ_WAITER_SLEEPS, /* a wake needs a system call */
    AMG_CQ_WAITER_WOKEN,
};

/* A thread in a list of waiters; lives on the stack of that thread. */
struct amg_cq_waiter {
    struct amg_link link;     /* guarded by the lock of the queue */
    atomic_uint word;         /* an amg_cq_waiter_word */
    bool runs_all;            /* runs every entry, not only incoming calls */
    struct amg_tally *sleeps; /* of the queue */
};

/* The waiters of a queue; the lock of the queue guards all members but the
 * tallies. */
struct amg_cq_waiters {
    /* The lowest bits: one for each doorbell that a thread is about to block
     * on. Above: the number of threads in each list, in 30 bits each, enough
     * for a process. The release store of amg_cq_arm() pairs with the
     * acquire load of amg_cq_is_armed(). */
    _Atomic(uint64_t) waiting;
    /* Counts wakes; its release store pairs with amg_cq_epoch(). A thread that
     * arms passes the epoch that it read before its last look for work, so that
     * no wake after that look is lost. */
    atomic_uint epoch;
    struct amg_list lists[AMG_WAITS_KINDS];
    unsigned heeding; /* bits of the doorbells that a push signals, if armed */
    int event_fds[AMG_CQ_WAITERS]; /* doorbells; -1: not created */
    bool is_signaled[AMG_CQ_WAITERS];
    /* System calls in which a thread slept, and that woke a thread. */
    struct amg_tally sleeps;
    struct amg_tally wakes;
};

/* Bits of `waiting`. */
#define AMG_WAITING_DOORBELLS ((1u << AMG_CQ_WAITERS) - 1u)
/* Doorbells of threads that become owner only if no caller does. */
#define AMG_WAITING_STANDBY (1u << AMG_CQ_LOOP | 1u << AMG_CQ_THREAD)
#define AMG_WAITING_TO_OWN  (0x3fffffffull << AMG_CQ_WAITERS)

/* Owned by its context. */
struct amg_cq {
    struct amg_bias lock;    /* guards all other members */
    struct amg_list entries; /* in order of completion */
    /* Number of entries. Its release store in push pairs with the acquire load
     * of threads that check before they take the lock. */
    atomic_uint count;
    struct amg_cq_waiters waiters; /* unused in `incoming` of a context */
};

void amg_cq_init(struct amg_cq *cq);
void amg_cq_fini(struct amg_cq *cq);

/* Adds a thread at the end of a list. A thread that enters, then clears its
 * wake word, then looks for work, is woken for work that comes later. */
void amg_cq_enter(
    struct amg_cq *cq, enum amg_waits kind, struct amg_cq_waiter *waiter);
void amg_cq_leave(
    struct amg_cq *cq, enum amg_waits kind, struct amg_cq_waiter *waiter);

/* Clears the wake word; the caller then sees what its waker wrote. */
static inline void amg_cq_waiter_clear(struct amg_cq_waiter *waiter)
{
    (void)atomic_exchange_explicit(
        &waiter->word, AMG_CQ_WAITER_LOOKS, memory_order_acq_rel);
}

/* Wakes the threads that are armed, because a poll now has something to see. */
void amg_cq_wake_armed(struct amg_cq *cq);

/* Wakes all waiters: some of them may run an incoming call, and the caller does
 * not know which ones may. No system call if no waiter sleeps. */
void amg_cq_wake(struct amg_cq *cq);

/* Wakes the first of the threads in a list that run every entry. */
void amg_cq_wake_first(struct amg_cq *cq, enum amg_waits kind);

/* By an owner that has left: wakes the first thread that waits to own. If no
 * thread waits, wakes the event loop and the progress thread, which must arm
 * again: the polls of the owner have disarmed the endpoints. */
void amg_cq_hand_over(struct amg_cq *cq);

/* Wakes all threads in HG_Progress(), but no event loop or progress thread. */
void amg_cq_ring(struct amg_cq *cq);

/* The end of a push into a queue with waiters: signals the armed doorbells of
 * threads that run entries, unlocks the queue, and wakes in each list the first
 * thread that runs every entry. */
void amg_cq_pushed_unlock(struct amg_cq *cq);

/* From now on a push signals the armed doorbell of `who`, too; until then, only
 * the doorbells of the owner and of the event loop. */
void amg_cq_heed(struct amg_cq *cq, enum amg_cq_who who);

/* Sets the doorbell of `who`, so that `who` may arm from now on. */
void amg_cq_set_event_fd(struct amg_cq *cq, enum amg_cq_who who, int event_fd);

/* Announces that `who` is about to block on its doorbell. False: an entry that
 * `who` heeds is queued, or there was a wake since `epoch`. */
bool amg_cq_arm(struct amg_cq *cq, enum amg_cq_who who, unsigned epoch);
/* Withdraws the announcement, if any, and drains the doorbell. */
void amg_cq_disarm(struct amg_cq *cq, enum amg_cq_who who);

/* Signals the doorbell of `who`, armed or not; the next disarm drains it. */
void amg_cq_signal(struct amg_cq *cq, enum amg_cq_who who);

/* The bits of the doorbells and the number of threads in each list. */
static inline uint64_t amg_cq_waiting(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->waiters.waiting, memory_order_relaxed);
}

/* Counts an entry; all writers hold the lock, so a plain store is enough. */
static inline void amg_cq_count_locked(struct amg_cq *cq)
{
    atomic_store_explicit(&cq->count,
        atomic_load_explicit(&cq->count, memory_order_relaxed) + 1u,
        memory_order_release);
}

static inline void amg_cq_add_locked(
    struct amg_cq *cq, struct amg_cq_entry *entry)
{
    amg_list_push(&cq->entries, &entry->link);
    amg_cq_count_locked(cq);
}
void amg_cq_push_slowly(struct amg_cq *cq, struct amg_cq_entry *entry);
/* amg_cq_push_slowly() in front of all queued entries. */
void amg_cq_push_first_slowly(struct amg_cq *cq, struct amg_cq_entry *entry);
static AMG_INLINE void amg_cq_push(
    struct amg_cq *cq, struct amg_cq_entry *entry)
{
    if (!amg_bias_lock_own(&cq->lock)) {
        amg_cq_push_slowly(cq, entry);
        return;
    }
    amg_cq_add_locked(cq, entry);
    if (AMG_LIKELY(amg_cq_waiting(cq) == 0))
        amg_bias_unlock_own(&cq->lock);
    else
        amg_cq_pushed_unlock(cq);
}

static AMG_INLINE void amg_cq_push_first(
    struct amg_cq *cq, struct amg_cq_entry *entry)
{
    if (!amg_bias_lock_own(&cq->lock)) {
        amg_cq_push_first_slowly(cq, entry);
        return;
    }
    amg_list_push_front(&cq->entries, &entry->link);
    amg_cq_count_locked(cq);
    if (AMG_LIKELY(amg_cq_waiting(cq) == 0))
        amg_bias_unlock_own(&cq->lock);
    else
        amg_cq_pushed_unlock(cq);
}

static inline unsigned amg_cq_count(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->count, memory_order_acquire);
}

static inline bool amg_cq_is_empty(const struct amg_cq *cq)
{
    return amg_cq_count(cq) == 0;
}

static AMG_INLINE struct amg_cq_entry *amg_cq_remove_locked(struct amg_cq *cq)
{
    struct amg_link *link = amg_list_pop(&cq->entries);

    if (!AMG_LIKELY(link != NULL))
        return NULL;
    atomic_store_explicit(&cq->count,
        atomic_load_explicit(&cq->count, memory_order_relaxed) - 1u,
        memory_order_release);
    return amg_container_of(link, struct amg_cq_entry, link);
}
/* The oldest entry, or NULL. */
struct amg_cq_entry *amg_cq_pop_slowly(struct amg_cq *cq);
static AMG_INLINE struct amg_cq_entry *amg_cq_pop(struct amg_cq *cq)
{
    struct amg_cq_entry *entry = NULL;

    if (amg_cq_is_empty(cq))
        return NULL;
    if (!amg_bias_lock_own(&cq->lock))
        return amg_cq_pop_slowly(cq);
    entry = amg_cq_remove_locked(cq);
    amg_bias_unlock_own(&cq->lock);
    return entry;
}

/* The epoch for amg_cq_arm(), to be read before the last look. */
static inline unsigned amg_cq_epoch(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->waiters.epoch, memory_order_acquire);
}

/* Is `who` armed? */
static inline bool amg_cq_is_armed(const struct amg_cq *cq, enum amg_cq_who who)
{
    return (atomic_load_explicit(&cq->waiters.waiting, memory_order_acquire) &
               1u << who) != 0;
}

/* Is any doorbell armed? */
static inline bool amg_cq_has_armed(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiters.waiting, memory_order_acquire) &
               AMG_WAITING_DOORBELLS) != 0;
}

/* Must an owner that has left wake a thread? */
static inline bool amg_cq_has_heirs(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiters.waiting, memory_order_seq_cst) &
               (AMG_WAITING_TO_OWN | AMG_WAITING_STANDBY)) != 0;
}

/* Is there a thread that a ring would wake? */
static inline bool amg_cq_is_heeded(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiters.waiting, memory_order_seq_cst) &
               (AMG_WAITING_TO_OWN | 1u << AMG_CQ_OWNER)) != 0;
}

/* Does a thread in the list wait to own? The load is seq_cst, because a waiting
 * thread enters the list before it tries to own (core/cq.c). */
static inline bool amg_cq_is_awaited(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiters.waiting, memory_order_seq_cst) &
               AMG_WAITING_TO_OWN) != 0;
}

#endif
