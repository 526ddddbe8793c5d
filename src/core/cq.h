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
};

/* Owned by its context. */
struct amg_cq {
    struct amg_bias lock;    /* guards `entries`, `sleepers`, all writing */
    struct amg_list entries; /* in the order they finished */
    unsigned sleepers;       /* threads in amg_cq_sleep() */
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

void amg_cq_push(struct amg_cq *cq, struct amg_cq_entry *entry);
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

#endif
