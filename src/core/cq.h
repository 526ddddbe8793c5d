/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished work that waits for the user's trigger. */
#ifndef AMG_CORE_CQ_H
#define AMG_CORE_CQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/bias.h"

/* Lies in the object that finished, so that queueing never allocates. */
struct amg_cq_entry {
    struct amg_link link;
    void (*run)(struct amg_cq_entry *); /* calls the user; no lock is held */
    /* A peer asked for it, or it came of what a peer asked for. */
    bool is_served;
};

/* Who may sleep on a bell of its own. */
enum amg_cq_who {
    AMG_CQ_OWNER,  /* the progress owner */
    AMG_CQ_LOOP,   /* an event loop of the user's */
    AMG_CQ_THREAD, /* the progress thread, which then owns nothing */
    AMG_CQ_BELLS
};

/* Owned by its context. */
struct amg_cq {
    struct amg_bias lock;    /* guards all but the mutex and what it guards */
    struct amg_list entries; /* in the order they finished */
    /* Who waits: a bit for each bell that somebody is about to sleep on, and
     * above them the number of threads in amg_cq_sleep(). Its release store in
     * arm pairs with the acquire of amg_cq_is_armed(). */
    atomic_uint waiting;
    int bells[AMG_CQ_BELLS]; /* -1: nobody sleeps on it */
    bool is_rung[AMG_CQ_BELLS];
    /* How many are queued. Its release store in push pairs with the acquire
     * load of those who look before they take the lock. */
    atomic_uint count;
    /* Counts wakes; its release store pairs with amg_cq_epoch(). A sleeper
     * names the epoch it saw before it last looked for news, so that a wake in
     * between is not lost. */
    atomic_uint epoch;
    pthread_mutex_t mutex; /* for sleeping only */
    pthread_cond_t cond;
};

void amg_cq_init(struct amg_cq *cq);
void amg_cq_fini(struct amg_cq *cq);
/* In a child of fork(): nobody waits, and nobody holds a lock. */
void amg_cq_forget_threads(struct amg_cq *cq);

void amg_cq_push(struct amg_cq *cq, struct amg_cq_entry *entry);
/* The same, and of the threads in amg_cq_sleep() one is woken: each of them
 * takes what it finds. */
void amg_cq_push_for_one(struct amg_cq *cq, struct amg_cq_entry *entry);
/* The oldest entry, or NULL. */
struct amg_cq_entry *amg_cq_pop(struct amg_cq *cq);

static inline bool amg_cq_is_empty(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->count, memory_order_acquire) == 0;
}

/* To be taken before one looks for news, and given to amg_cq_sleep(). */
static inline unsigned amg_cq_epoch(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->epoch, memory_order_acquire);
}

/* Sleeps until something is queued, somebody has called wake since `epoch`,
 * or the moment has come. Returns at once when something is queued. */
void amg_cq_sleep(struct amg_cq *cq, unsigned epoch, uint64_t until_ns);

/* Ends the sleep of all who sleep. No system call when nobody does. */
void amg_cq_wake(struct amg_cq *cq);

/* The same for those who wait in calls alone; the threads that the library
 * started, and event loops, sleep on. */
void amg_cq_wake_callers(struct amg_cq *cq);

/* The bell that is rung for `who`, who may arm from now on. */
void amg_cq_set_bell(struct amg_cq *cq, enum amg_cq_who who, int bell);

/* Announces that `who` is about to sleep on its bell. False: something is
 * queued, or somebody called wake since `epoch`. The progress thread is told of
 * wakes alone. */
bool amg_cq_arm(struct amg_cq *cq, enum amg_cq_who who, unsigned epoch);
/* Takes that back and drains the bell; fine when it was not announced. */
void amg_cq_disarm(struct amg_cq *cq, enum amg_cq_who who);

/* Rings its bell, be it announced or not; the next disarm drains it. */
void amg_cq_ring(struct amg_cq *cq, enum amg_cq_who who);

/* Has `who` announced itself? */
static inline bool amg_cq_is_armed(const struct amg_cq *cq, enum amg_cq_who who)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_acquire) &
               1u << who) != 0;
}

/* Has one of those whose announcements at the endpoints a poll ends, and who
 * are not the owner? */
static inline bool amg_cq_has_standby(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_seq_cst) &
               (1u << AMG_CQ_LOOP | 1u << AMG_CQ_THREAD)) != 0;
}

/* Has anybody? */
static inline bool amg_cq_has_armed(const struct amg_cq *cq)
{
    return (atomic_load_explicit(&cq->waiting, memory_order_acquire) &
               ((1u << AMG_CQ_BELLS) - 1)) != 0;
}

#endif
