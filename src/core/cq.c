/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: finished operations that wait for HG_Trigger(), and the
 * threads that wait for a context. Model: tests/models/waiters.pml.
 *
 *   state of a thread     ended by: what the thread does then
 *   owner, polls          event, callback, ring, deadline: hands over
 *   owner, armed, blocks  doorbell, event of an endpoint, time limit: polls
 *   in the list, looks    entry, ring: leaves; no owner: becomes owner
 *                         nothing: sleeps
 *   in the list, sleeps   wake word: looks; deadline: leaves
 *   not owner, armed      doorbell, event of an endpoint: tries to own
 *
 * No wait is lost:
 *  - Dekker: a waiter enters the list, fences, tries to own; an owner leaves,
 *    fences, reads the list. So the waiter becomes owner, or the owner that
 *    leaves wakes the first waiter of the list.
 *  - A waiter that leaves for an entry, or at its deadline, may have been woken
 *    for another reason, too: so the waiter tries once more to own the context,
 *    only to hand over, and wakes the next waiter if entries stay.
 *  - A waiter clears its wake word before it looks: a wake after the look stays
 *    in the word, and the waiter does not sleep.
 *  - A thread arms under the lock, unless the epoch has changed since its last
 *    look, or an entry is queued that the thread heeds. Wakes change the epoch,
 *    and pushes read the armed waiters, under the same lock.
 *  - A doorbell is signalled once, and stays readable until its thread disarms.
 * An owner hands over to the first waiter, or, if the list is empty, to the
 * progress thread and the event loop. A new caller may become owner first. */
#include "core/cq.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/process.h"

/* The number that one thread of a list adds to `waiting`. */
static uint64_t one_of(enum amg_waits kind)
{
    return kind == AMG_WAITS_TO_OWN
               ? AMG_WAITING_TO_OWN & -AMG_WAITING_TO_OWN
               : (AMG_WAITING_TO_OWN | AMG_WAITING_DOORBELLS) + 1u;
}

static void waiters_init(struct amg_cq_waiters *waiters)
{
    atomic_init(&waiters->waiting, 0);
    atomic_init(&waiters->epoch, 0);
    waiters->heeding = 1u << AMG_CQ_OWNER | 1u << AMG_CQ_LOOP;
    amg_tally_init(&waiters->sleeps);
    amg_tally_init(&waiters->wakes);
    for (unsigned kind = 0; kind < AMG_WAITS_KINDS; kind++)
        amg_list_init(&waiters->lists[kind]);
    for (unsigned who = 0; who < AMG_CQ_WAITERS; who++) {
        waiters->event_fds[who] = -1;
        waiters->is_signaled[who] = false;
    }
}

void amg_cq_init(struct amg_cq *cq)
{
    amg_bias_init(&cq->lock);
    amg_list_init(&cq->entries);
    atomic_init(&cq->count, 0);
    waiters_init(&cq->waiters);
}

void amg_cq_fini(struct amg_cq *cq)
{
    AMG_ASSERT(amg_list_is_empty(&cq->entries));
}

static void pushed_unlock(struct amg_cq *cq)
{
    if (AMG_LIKELY(amg_cq_waiting(cq) == 0))
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

/* Sets `waiting`; all writers hold the lock, so a plain store is enough. */
static void waiting_set_locked(struct amg_cq *cq, uint64_t waiting)
{
    AMG_ASSERT_HELD_BIAS(&cq->lock);
    atomic_store_explicit(&cq->waiters.waiting, waiting, memory_order_release);
}

/* Marks a waiter as woken. Returns its word if it slept, and counts the system
 * call to come, else NULL. */
static atomic_uint *waiter_mark_locked(
    struct amg_cq *cq, struct amg_cq_waiter *waiter)
{
    AMG_ASSERT_HELD_BIAS(&cq->lock);
    if (atomic_exchange_explicit(&waiter->word, AMG_CQ_WAITER_WOKEN,
            memory_order_acq_rel) != AMG_CQ_WAITER_SLEEPS)
        return NULL;
    amg_tally_add(&cq->waiters.wakes, 1);
    return &waiter->word;
}

static struct amg_cq_waiter *waiter_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_cq_waiter, link);
}

/* Marks the first thread, or the first that runs every entry (`runs_all`). */
static atomic_uint *first_mark_locked(
    struct amg_cq *cq, enum amg_waits kind, bool runs_all)
{
    const struct amg_list *list = &cq->waiters.lists[kind];
    struct amg_link *link = amg_list_first(list);

    AMG_ASSERT_HELD_BIAS(&cq->lock);
    while (link != NULL && runs_all && !waiter_of(link)->runs_all)
        link = amg_list_next(list, link);
    return link == NULL ? NULL : waiter_mark_locked(cq, waiter_of(link));
}

/* The waiter may have left: only the address of its word is used. */
static void word_wake(atomic_uint *word)
{
    if (word != NULL)
        amg_futex_wake(word, 1);
}

/* Signals the doorbells of `bits` that are not signalled. NOTE(system call
 * under the lock): only where a thread must be woken. Without the lock a signal
 * could come after its receiver has drained the doorbell. */
static void doorbells_signal_locked(struct amg_cq *cq, unsigned bits)
{
    struct amg_cq_waiters *waiters = &cq->waiters;

    AMG_ASSERT_HELD_BIAS(&cq->lock);
    for (unsigned who = 0; who < AMG_CQ_WAITERS; who++) {
        if ((bits & 1u << who) == 0 || waiters->is_signaled[who])
            continue;
        waiters->is_signaled[who] = true;
        amg_eventfd_signal(waiters->event_fds[who]);
        amg_tally_add(&waiters->wakes, 1);
    }
}

/* Counts a wake, and signals the doorbells of `bits` that are armed. */
static void epoch_change_locked(struct amg_cq *cq, unsigned bits)
{
    AMG_ASSERT_HELD_BIAS(&cq->lock);
    atomic_store_explicit(
        &cq->waiters.epoch, amg_cq_epoch(cq) + 1u, memory_order_release);
    doorbells_signal_locked(cq, amg_cq_waiting(cq) & bits);
}

void amg_cq_pushed_unlock(struct amg_cq *cq)
{
    atomic_uint *owner = first_mark_locked(cq, AMG_WAITS_TO_OWN, true);
    atomic_uint *runner = first_mark_locked(cq, AMG_WAITS_FOR_ENTRY, true);

    doorbells_signal_locked(cq, amg_cq_waiting(cq) & cq->waiters.heeding);
    amg_bias_unlock(&cq->lock);
    word_wake(owner);
    word_wake(runner);
}

/* Wakes a whole list. NOTE(system call under the lock): a thread needs the
 * lock to leave its list, so its wake word stays valid. */
static void all_wake_locked(struct amg_cq *cq, enum amg_waits kind)
{
    const struct amg_list *list = &cq->waiters.lists[kind];
    struct amg_link *link = amg_list_first(list);

    AMG_ASSERT_HELD_BIAS(&cq->lock);
    for (; link != NULL; link = amg_list_next(list, link))
        word_wake(waiter_mark_locked(cq, waiter_of(link)));
}

void amg_cq_wake_armed(struct amg_cq *cq)
{
    amg_bias_lock(&cq->lock);
    epoch_change_locked(cq, AMG_WAITING_DOORBELLS);
    amg_bias_unlock(&cq->lock);
}

void amg_cq_wake(struct amg_cq *cq)
{
    amg_bias_lock(&cq->lock);
    epoch_change_locked(cq, AMG_WAITING_DOORBELLS);
    all_wake_locked(cq, AMG_WAITS_TO_OWN);
    all_wake_locked(cq, AMG_WAITS_FOR_ENTRY);
    amg_bias_unlock(&cq->lock);
}

void amg_cq_ring(struct amg_cq *cq)
{
    amg_bias_lock(&cq->lock);
    epoch_change_locked(cq, 1u << AMG_CQ_OWNER);
    all_wake_locked(cq, AMG_WAITS_TO_OWN);
    amg_bias_unlock(&cq->lock);
}

void amg_cq_wake_first(struct amg_cq *cq, enum amg_waits kind)
{
    atomic_uint *word = NULL;

    amg_bias_lock(&cq->lock);
    word = first_mark_locked(cq, kind, true);
    amg_bias_unlock(&cq->lock);
    word_wake(word);
}

void amg_cq_hand_over(struct amg_cq *cq)
{
    atomic_uint *word = NULL;

    amg_bias_lock(&cq->lock);
    word = first_mark_locked(cq, AMG_WAITS_TO_OWN, false);
    epoch_change_locked(cq, amg_cq_is_awaited(cq) ? 0 : AMG_WAITING_STANDBY);
    amg_bias_unlock(&cq->lock);
    word_wake(word);
}

void amg_cq_enter(
    struct amg_cq *cq, enum amg_waits kind, struct amg_cq_waiter *waiter)
{
    atomic_init(&waiter->word, AMG_CQ_WAITER_LOOKS);
    waiter->runs_all = !amg_role.is_library_thread;
    waiter->sleeps = &cq->waiters.sleeps;
    amg_bias_lock(&cq->lock);
    amg_list_push(&cq->waiters.lists[kind], &waiter->link);
    waiting_set_locked(cq, amg_cq_waiting(cq) + one_of(kind));
    amg_bias_unlock(&cq->lock);
    /* Precedes the caller's next try to own the context: base/bias.h. */
    atomic_thread_fence(memory_order_seq_cst);
}

void amg_cq_leave(
    struct amg_cq *cq, enum amg_waits kind, struct amg_cq_waiter *waiter)
{
    amg_bias_lock(&cq->lock);
    amg_list_remove(&waiter->link);
    waiting_set_locked(cq, amg_cq_waiting(cq) - one_of(kind));
    amg_bias_unlock(&cq->lock);
    atomic_thread_fence(memory_order_seq_cst); /* like amg_cq_enter() */
}

void amg_cq_heed(struct amg_cq *cq, enum amg_cq_who who)
{
    amg_bias_lock(&cq->lock);
    cq->waiters.heeding |= 1u << who;
    amg_bias_unlock(&cq->lock);
}

void amg_cq_set_event_fd(struct amg_cq *cq, enum amg_cq_who who, int event_fd)
{
    amg_bias_lock(&cq->lock);
    cq->waiters.event_fds[who] = event_fd;
    amg_bias_unlock(&cq->lock);
}

bool amg_cq_arm(struct amg_cq *cq, enum amg_cq_who who, unsigned epoch)
{
    bool is_quiet = false;

    amg_bias_lock(&cq->lock);
    AMG_ASSERT(cq->waiters.event_fds[who] >= 0);
    is_quiet =
        ((cq->waiters.heeding & 1u << who) == 0 || amg_cq_is_empty(cq)) &&
        amg_cq_epoch(cq) == epoch;
    if (is_quiet)
        waiting_set_locked(cq, amg_cq_waiting(cq) | 1u << who);
    amg_bias_unlock(&cq->lock);
    /* Precedes the caller's next try to own the context: base/bias.h. */
    atomic_thread_fence(memory_order_seq_cst);
    return is_quiet;
}

void amg_cq_disarm(struct amg_cq *cq, enum amg_cq_who who)
{
    struct amg_cq_waiters *waiters = &cq->waiters;

    amg_bias_lock(&cq->lock);
    waiting_set_locked(cq, amg_cq_waiting(cq) & ~(1ull << who));
    if (waiters->is_signaled[who]) {
        waiters->is_signaled[who] = false;
        amg_eventfd_drain(waiters->event_fds[who]);
    }
    amg_bias_unlock(&cq->lock);
}

void amg_cq_signal(struct amg_cq *cq, enum amg_cq_who who)
{
    amg_bias_lock(&cq->lock);
    AMG_ASSERT(cq->waiters.event_fds[who] >= 0);
    doorbells_signal_locked(cq, 1u << who);
    amg_bias_unlock(&cq->lock);
}
