/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished operations that wait for HG_Trigger().
 *
 * A sleeper announces itself and checks the queue once more under the queue's
 * lock, and a push checks for sleepers under the same lock: one of the two sees
 * the other, so no wake-up is lost and a push without sleepers is cheap. The
 * mutex is held from before the announcement to the wait, so the signal cannot
 * come in between. Lock order: mutex, then lock.
 *
 * A thread that blocks on descriptors announces itself in the same way, and its
 * doorbell wakes it. The doorbell is signalled once, and stays readable until
 * the thread disarms. Entries do not wake the progress thread, which runs none
 * of them. */
#include "core/cq.h"

#include <time.h>

#include "base/assert.h"
#include "base/lock.h"

#define NS_PER_S 1000000000ull

/* In amg_cq.waiting, above the bits of the doorbells. */
#define SLEEPER (1u << AMG_CQ_WAITERS)

/* Bits of the doorbells that a queued entry signals. */
#define HEEDING (SLEEPER - 1u - (1u << AMG_CQ_THREAD))

/* Resets the state of waiting threads. */
static void waiting_init(struct amg_cq *cq)
{
    pthread_condattr_t attr;

    amg_bias_init(&cq->lock);
    atomic_init(&cq->waiting, 0);
    pthread_mutex_init(&cq->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cq->cond, &attr);
    pthread_condattr_destroy(&attr);
}

void amg_cq_init(struct amg_cq *cq)
{
    unsigned who = 0;

    amg_list_init(&cq->entries);
    atomic_init(&cq->count, 0);
    for (who = 0; who < AMG_CQ_WAITERS; who++) {
        cq->event_fds[who] = -1;
        cq->is_signaled[who] = false;
    }
    atomic_init(&cq->epoch, 0);
    waiting_init(cq);
}

void amg_cq_fini(struct amg_cq *cq)
{
    AMG_ASSERT(amg_list_is_empty(&cq->entries));
    pthread_cond_destroy(&cq->cond);
    pthread_mutex_destroy(&cq->mutex);
}

static unsigned waiting_get(const struct amg_cq *cq)
{
    return atomic_load_explicit(&cq->waiting, memory_order_relaxed);
}

static void waiting_set_locked(struct amg_cq *cq, unsigned waiting)
{
    atomic_store_explicit(&cq->waiting, waiting, memory_order_release);
}

/* NOTE(system call under the lock): only for a sleeper, and so that no signal
 * comes late, after its receiver has drained the doorbell and sleeps again. */
static void waiters_signal_locked(struct amg_cq *cq, unsigned waiting)
{
    unsigned who = 0;

    for (who = 0; who < AMG_CQ_WAITERS; who++) {
        if ((waiting & 1u << who) == 0 || cq->is_signaled[who])
            continue;
        cq->is_signaled[who] = true;
        amg_eventfd_signal(cq->event_fds[who]);
    }
}

/* Signals the armed doorbells among `wanted`; returns all waiters. */
static unsigned tell_locked(struct amg_cq *cq, unsigned wanted)
{
    unsigned waiting = waiting_get(cq);

    if ((waiting & wanted) != 0)
        waiters_signal_locked(cq, waiting & wanted);
    return waiting;
}

static void sleepers_signal(struct amg_cq *cq)
{
    pthread_mutex_lock(&cq->mutex);
    pthread_cond_broadcast(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

void amg_cq_pushed_unlock(struct amg_cq *cq)
{
    unsigned waiting = tell_locked(cq, HEEDING);

    amg_bias_unlock(&cq->lock);
    if (waiting >= SLEEPER)
        sleepers_signal(cq);
}

static inline void pushed_unlock(struct amg_cq *cq)
{
    if (AMG_LIKELY(waiting_get(cq) == 0))
        amg_bias_unlock(&cq->lock);
    else
        amg_cq_pushed_unlock(cq);
}

void amg_cq_push_slowly(struct amg_cq *cq, struct amg_cq_entry *entry)
{
    amg_bias_lock(&cq->lock);
    amg_cq_add_locked(cq, entry);
    pushed_unlock(cq);
}

void amg_cq_push_first_slowly(struct amg_cq *cq, struct amg_cq_entry *entry)
{
    amg_bias_lock(&cq->lock);
    amg_list_push_front(&cq->entries, &entry->link);
    amg_cq_count_locked(cq);
    pushed_unlock(cq);
}

struct amg_cq_entry *amg_cq_pop_slowly(struct amg_cq *cq)
{
    struct amg_cq_entry *entry = NULL;

    amg_bias_lock(&cq->lock);
    entry = amg_cq_remove_locked(cq);
    amg_bias_unlock(&cq->lock);
    return entry;
}

/* Announces a sleeper, or withdraws it. True: there is nothing to wake for. */
static bool waiting_change(struct amg_cq *cq, unsigned change, unsigned epoch)
{
    bool is_quiet = false;

    amg_bias_lock(&cq->lock);
    waiting_set_locked(cq, waiting_get(cq) + change);
    is_quiet = amg_cq_is_empty(cq) && amg_cq_epoch(cq) == epoch;
    amg_bias_unlock(&cq->lock);
    return is_quiet;
}

void amg_cq_sleep(struct amg_cq *cq, unsigned epoch, uint64_t until_ns)
{
    struct timespec until;

    until.tv_sec = (time_t)(until_ns / NS_PER_S);
    until.tv_nsec = (long)(until_ns % NS_PER_S);
    pthread_mutex_lock(&cq->mutex);
    if (waiting_change(cq, SLEEPER, epoch))
        while (pthread_cond_timedwait(&cq->cond, &cq->mutex, &until) == 0 &&
               waiting_change(cq, 0u, epoch))
            continue;
    waiting_change(cq, -SLEEPER, epoch);
    pthread_mutex_unlock(&cq->mutex);
}

/* Changes the epoch; wakes sleepers, and the armed doorbells of `wanted`. */
static void wake(struct amg_cq *cq, unsigned wanted)
{
    unsigned waiting = 0;

    amg_bias_lock(&cq->lock);
    atomic_store_explicit(
        &cq->epoch, amg_cq_epoch(cq) + 1u, memory_order_release);
    waiting = tell_locked(cq, wanted);
    amg_bias_unlock(&cq->lock);
    if (waiting >= SLEEPER)
        sleepers_signal(cq);
}

void amg_cq_wake(struct amg_cq *cq)
{
    wake(cq, SLEEPER - 1u);
}

void amg_cq_wake_callers(struct amg_cq *cq)
{
    wake(cq, 1u << AMG_CQ_OWNER);
}

void amg_cq_set_event_fd(struct amg_cq *cq, enum amg_cq_who who, int event_fd)
{
    amg_bias_lock(&cq->lock);
    cq->event_fds[who] = event_fd;
    amg_bias_unlock(&cq->lock);
}

bool amg_cq_arm(struct amg_cq *cq, enum amg_cq_who who, unsigned epoch)
{
    bool is_quiet = false;

    amg_bias_lock(&cq->lock);
    AMG_ASSERT(cq->event_fds[who] >= 0);
    is_quiet = (who == AMG_CQ_THREAD || amg_cq_is_empty(cq)) &&
               amg_cq_epoch(cq) == epoch;
    if (is_quiet)
        waiting_set_locked(cq, waiting_get(cq) | 1u << who);
    amg_bias_unlock(&cq->lock);
    /* Announces before the next try to own the context: base/bias.h. */
    atomic_thread_fence(memory_order_seq_cst);
    return is_quiet;
}

void amg_cq_signal(struct amg_cq *cq, enum amg_cq_who who)
{
    amg_bias_lock(&cq->lock);
    AMG_ASSERT(cq->event_fds[who] >= 0);
    waiters_signal_locked(cq, 1u << who);
    amg_bias_unlock(&cq->lock);
}

void amg_cq_disarm(struct amg_cq *cq, enum amg_cq_who who)
{
    amg_bias_lock(&cq->lock);
    waiting_set_locked(cq, waiting_get(cq) & ~(1u << who));
    if (cq->is_signaled[who]) {
        cq->is_signaled[who] = false;
        amg_eventfd_drain(cq->event_fds[who]);
    }
    amg_bias_unlock(&cq->lock);
}
