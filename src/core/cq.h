/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished operations that wait for HG_Trigger(). */
#ifndef AMG_CORE_CQ_H
#define AMG_CORE_CQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/bias.h"

/* Embedded in the finished object, so that queueing never allocates. */
struct amg_cq_entry {
    struct amg_link link;
    void (*run)(struct amg_cq_entry *); /* calls the user; no lock is held */
    /* A peer requested the call, or the call follows from such a request. */
    bool is_incoming;
    bool is_fetching; /* arguments are being pulled: see rpc/order.c */
};

/* Waiters that can block on a doorbell of their own. */
enum amg_cq_who {
    AMG_CQ_OWNER,  /* the progress owner */
    AMG_CQ_LOOP,   /* an event loop of the user's */
    AMG_CQ_THREAD, /* the progress thread, which is not the owner then */
    AMG_CQ_WAITERS
};

/* Owned by its context. */
struct amg_cq {
    struct amg_bias lock;    /* guards all but the mutex and what it guards */
    struct amg_list entries; /* in order of completion */
    /* Waiters: a bit for each doorbell that a thread is about to block on, and
     * above them the number of threads in amg_cq_sleep(). Its release store in
     * arm pairs with the acquire of amg_cq_is_armed(). */
    atomic_uint waiting;
    int event_fds[AMG_CQ_WAITERS]; /* -1: no waiter uses it */
    bool is_signaled[AMG_CQ_WAITERS];
    /* Number of entries. Its release store in push pairs with the acquire load
     * of threads that check before they take the lock. */
    atomic_uint count;
    /* Counts wakes; its release store pairs with amg_cq_epoch(). A sleeper
     * passes the epoch it read before its last check, so that a wake in between
     * is not lost. */
    atomic_uint epoch;
    pthread_mutex_t mutex; /* for sleeping only */
    pthread_cond_t cond;
};

void amg_cq_init(struct amg_cq *cq);
void amg_cq_fini(struct amg_cq *cq);

/* After a push that found waiters: unlocks the queue and wakes them. */
void amg_cq_pushed_unlock(struct amg_cq *cq);

/* Writers hold the lock, so no read-modify-write is needed. */
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
/* amg_cq_push_slowly() in front of all others. */
void amg_cq_push_first_slowly(struct amg_cq *cq, struct amg_cq_entry *entry);
static AMG_INLINE void amg_cq_push(
    struct amg_cq *cq, struct amg_cq_entry *entry)
{
    if (!amg_bias_lock_own(&cq->lock)) {
        amg_cq_push_slowly(cq, entry);
        return;
    }
    amg_cq_add_locked(cq, entry);
    if (AMG_LIKELY(
            atomic_load_explicit(&cq->waiting, memory_order_relaxed) == 0))
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
    if (AMG_LIKELY(
            atomic_load_explicit(&cq->waiting, memory_order_relaxed) == 0))
        amg_bias_unlock_own(&cq->lock);
    else
        amg_cq_pushed_unlock(cq);
}

static inline bool amg_cq_is_empty(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->count, memory_order_acquire) == 0;
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

/* Read before the check for entries, and passed to amg_cq_sleep(). */
static inline unsigned amg_cq_epoch(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->epoch, memory_order_acquire);
}

/* Sleeps until an entry is queued, wake was called since `epoch`, or the time
 * is reached. Returns at once if an entry is queued. */
void amg_cq_sleep(struct amg_cq *cq, unsigned epoch, uint64_t until_ns);

/* Wakes all sleeping threads. No system call if none sleeps. */
void amg_cq_wake(struct amg_cq *cq);

/* Wakes threads in calls only; the threads of the library and event loops sleep
 * on. */
void amg_cq_wake_callers(struct amg_cq *cq);

/* Sets the doorbell of `who`, which may arm from now on. */
void amg_cq_set_event_fd(struct amg_cq *cq, enum amg_cq_who who, int event_fd);

/* Announces that `who` is about to block on its doorbell. False: an entry is
 * queued, or wake was called since `epoch`. Entries do not wake the progress
 * thread. */
bool amg_cq_arm(struct amg_cq *cq, enum amg_cq_who who, unsigned epoch);
/* Withdraws the announcement, if any, and drains the doorbell. */
void amg_cq_disarm(struct amg_cq *cq, enum amg_cq_who who);

/* Signals the doorbell of `who`, armed or not; the next disarm drains it. */
void amg_cq_signal(struct amg_cq *cq, enum amg_cq_who who);

/* Is `who` armed? */
static inline bool amg_cq_is_armed(const struct amg_cq *cq, enum amg_cq_who who)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_acquire) &
               1u << who) != 0;
}

/* Is an event loop or the progress thread armed, whose announcements at the
 * endpoints a poll of the owner ends? */
static inline bool amg_cq_has_standby(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_seq_cst) &
               (1u << AMG_CQ_LOOP | 1u << AMG_CQ_THREAD)) != 0;
}

/* Is any waiter armed? */
static inline bool amg_cq_has_armed(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_acquire) &
               ((1u << AMG_CQ_WAITERS) - 1)) != 0;
}

#endif
