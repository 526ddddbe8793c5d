/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished work that waits for the user's trigger.
 *
 * Whoever sleeps announces it first and then looks at the queue again;
 * whoever pushes or wakes changes queue or epoch first and then looks for
 * sleepers. With both in sequential order one of the two sees the other, so no
 * wake-up is lost and nobody who is awake pays for one. */
#include "core/cq.h"

#include <time.h>

#include "base/assert.h"

#define NS_PER_S 1000000000ull

void amg_cq_init(struct amg_cq *cq)
{
    pthread_condattr_t attr;

    amg_lock_init(&cq->lock);
    amg_list_init(&cq->entries);
    atomic_init(&cq->count, 0);
    atomic_init(&cq->sleepers, 0);
    atomic_init(&cq->epoch, 0);
    pthread_mutex_init(&cq->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cq->cond, &attr);
    pthread_condattr_destroy(&attr);
}

void amg_cq_fini(struct amg_cq *cq)
{
    AMG_ASSERT(amg_list_is_empty(&cq->entries));
    pthread_cond_destroy(&cq->cond);
    pthread_mutex_destroy(&cq->mutex);
}

static void sleepers_signal(struct amg_cq *cq)
{
    /* seq_cst: pairs with the announcement in amg_cq_sleep(). */
    if (atomic_load_explicit(&cq->sleepers, memory_order_seq_cst) == 0)
        return;
    pthread_mutex_lock(&cq->mutex);
    pthread_cond_broadcast(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

void amg_cq_push(struct amg_cq *cq, struct amg_cq_entry *entry)
{
    amg_lock_take(&cq->lock);
    amg_list_push(&cq->entries, &entry->link);
    atomic_fetch_add_explicit(&cq->count, 1, memory_order_seq_cst);
    amg_lock_give(&cq->lock);
    sleepers_signal(cq);
}

struct amg_cq_entry *amg_cq_pop(struct amg_cq *cq)
{
    struct amg_link *link = NULL;

    if (amg_cq_is_empty(cq))
        return NULL;
    amg_lock_take(&cq->lock);
    link = amg_list_pop(&cq->entries);
    if (link != NULL)
        atomic_fetch_sub_explicit(&cq->count, 1, memory_order_relaxed);
    amg_lock_give(&cq->lock);
    return link == NULL ? NULL : AMG_OBJECT(link, struct amg_cq_entry, link);
}

void amg_cq_sleep(struct amg_cq *cq, unsigned epoch, uint64_t until_ns)
{
    struct timespec until;

    until.tv_sec = (time_t)(until_ns / NS_PER_S);
    until.tv_nsec = (long)(until_ns % NS_PER_S);
    pthread_mutex_lock(&cq->mutex);
    atomic_fetch_add_explicit(&cq->sleepers, 1, memory_order_seq_cst);
    while (atomic_load_explicit(&cq->count, memory_order_seq_cst) == 0 &&
           atomic_load_explicit(&cq->epoch, memory_order_seq_cst) == epoch)
        if (pthread_cond_timedwait(&cq->cond, &cq->mutex, &until) != 0)
            break;
    atomic_fetch_sub_explicit(&cq->sleepers, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cq->mutex);
}

void amg_cq_wake(struct amg_cq *cq)
{
    atomic_fetch_add_explicit(&cq->epoch, 1, memory_order_seq_cst);
    sleepers_signal(cq);
}
