/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared base of an instance: its state, the wake-up of its loop, its
 * references, and the runtime of user-level threads.
 *
 * Calls about the end may come late, or twice, or from several threads. So
 * all instances are listed here, with their references. An instance is
 * opened with one reference. margo_finalize() takes that, or the
 * margo_instance_release() that is left with it: either begins the end, and
 * the end itself gives the reference back when serving is over. So the count
 * never is 0 while callbacks of the end take references and release them.
 * When it is 0, the class, the context and the pools are closed. The memory
 * of the last few instances that were closed is kept, so that a late call
 * finds out that its instance has ended. */
#include "margo/instance.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/lock.h"
#include "core/context.h"
#include "margo/runtime.h"

enum { CLOSED_KEPT = 8 };

/* All instances of the process. */
static struct {
    struct amg_lock lock;      /* guards all that is here, and in each `life` */
    struct amg_list instances; /* of struct margo_instance */
    struct amg_list closed;    /* the same; the oldest first */
    unsigned closed_count;
} all = {
    .instances = {{&all.instances.head, &all.instances.head}},
    .closed = {{&all.closed.head, &all.closed.head}},
};

/* Calls of ABT_finalize() that ended instances still owe; a counter. */
static atomic_uint owed;
static atomic_bool is_registered; /* with atexit() */

static const bool edges[AMG_MARGO_STATE_COUNT][AMG_MARGO_STATE_COUNT] = {
    [AMG_MARGO_OPENING] =
        {[AMG_MARGO_RUNNING] = true, [AMG_MARGO_CLOSED] = true},
    [AMG_MARGO_RUNNING] = {[AMG_MARGO_FINALIZING] = true},
    [AMG_MARGO_FINALIZING] = {[AMG_MARGO_STOPPED] = true},
    [AMG_MARGO_STOPPED] = {[AMG_MARGO_CLOSED] = true},
};

void amg_margo_set_state(margo_instance_id mid, enum amg_margo_state next)
{
    AMG_ASSERT(
        edges[atomic_load_explicit(&mid->state, memory_order_relaxed)][next]);
    atomic_store_explicit(&mid->state, next, memory_order_release);
}

void amg_margo_wake_watcher(margo_instance_id mid)
{
    struct amg_margo_wakeup *wakeup = &mid->wakeup;

    /* Sequentially consistent, as is the look of the watcher after it has
     * announced its sleep: one of both sees the other. */
    if (atomic_load_explicit(&wakeup->is_parked, memory_order_seq_cst) &&
        atomic_exchange_explicit(
            &wakeup->is_parked, false, memory_order_seq_cst))
        amg_margo_runtime_nap_wake(&wakeup->word);
}

void amg_margo_wake(margo_instance_id mid)
{
    struct amg_margo_wakeup *wakeup = &mid->wakeup;
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&wakeup->mutex);

    /* The caller's stores come before its look at the gate, and the loop shuts
     * the gate before it looks for them: one of both sees the other. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&wakeup->is_gated, memory_order_seq_cst)) {
        ABT_mutex_lock(mutex);
        wakeup->wakes++;
        ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&wakeup->cond));
        ABT_mutex_unlock(mutex);
    }
    amg_margo_wake_watcher(mid);
    if (mid->hg_context != NULL) /* or it has ended */
        amg_context_ring(mid->hg_context);
}

bool amg_margo_runtime_enter(bool *ret_is_first)
{
    bool is_first = ABT_initialized() != ABT_SUCCESS;
    int rc = ABT_init(0, NULL);

    if (rc != ABT_SUCCESS) {
        margo_error(MARGO_INSTANCE_NULL,
            "user-level threads cannot be started: ABT_init() says %d", rc);
        return false;
    }
    if (!atomic_exchange_explicit(&is_registered, true, memory_order_relaxed))
        (void)atexit(amg_margo_runtime_settle);
    *ret_is_first = is_first;
    return true;
}

void amg_margo_runtime_leave(void)
{
    atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
}

void amg_margo_runtime_settle(void)
{
    unsigned count = atomic_load_explicit(&owed, memory_order_relaxed);

    while (count > 0) {
        if (!atomic_compare_exchange_weak_explicit(&owed, &count, count - 1u,
                memory_order_relaxed, memory_order_relaxed))
            continue;
        if (ABT_finalize() != ABT_SUCCESS) {
            /* Only the primary thread may end it, and does so later. */
            atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
            return;
        }
        count = atomic_load_explicit(&owed, memory_order_relaxed);
    }
}

static margo_instance_id instance_of(struct amg_link *link)
{
    return amg_container_of(link, struct margo_instance, refs.link);
}

/* Its lock is held. The id is only compared, since it may be an old one. */
static bool is_known_locked(margo_instance_id mid)
{
    struct amg_link *link = amg_list_first(&all.instances);

    for (; link != NULL; link = amg_list_next(&all.instances, link))
        if (instance_of(link) == mid)
            return true;
    return false;
}

void amg_margo_refs_init(margo_instance_id mid)
{
    amg_lock_lock(&all.lock);
    AMG_ASSERT(mid->refs.count == 0 && mid->refs.callers == 0);
    mid->refs.count = 1;
    amg_list_push(&all.instances, &mid->refs.link);
    amg_lock_unlock(&all.lock);
}

bool amg_margo_instance_enter(margo_instance_id mid)
{
    bool is_known = false;

    amg_lock_lock(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        mid->refs.callers++;
    amg_lock_unlock(&all.lock);
    return is_known;
}

/* Keeps the memory of a closed instance; returns one that is no longer kept,
 * or NULL. */
static margo_instance_id retire_locked(margo_instance_id mid)
{
    amg_list_remove(&mid->refs.link);
    amg_list_push(&all.closed, &mid->refs.link);
    if (all.closed_count < CLOSED_KEPT) {
        all.closed_count++;
        return MARGO_INSTANCE_NULL;
    }
    return instance_of(amg_list_pop(&all.closed));
}

margo_instance_id amg_margo_instance_leave(margo_instance_id mid)
{
    margo_instance_id old = MARGO_INSTANCE_NULL;

    amg_lock_lock(&all.lock);
    AMG_ASSERT(mid->refs.callers > 0);
    mid->refs.callers--;
    if (mid->refs.callers == 0 && mid->refs.count == 0 &&
        amg_margo_state_of(mid) == AMG_MARGO_CLOSED && !mid->is_stuck)
        old = retire_locked(mid);
    amg_lock_unlock(&all.lock);
    return old;
}

bool amg_margo_instance_ref(margo_instance_id mid)
{
    bool is_open = false;

    amg_lock_lock(&all.lock);
    is_open = mid != MARGO_INSTANCE_NULL && is_known_locked(mid) &&
              !mid->refs.is_closing;
    if (is_open)
        mid->refs.count++;
    amg_lock_unlock(&all.lock);
    return is_open;
}

bool amg_margo_instance_unref(margo_instance_id mid, bool *ret_begins)
{
    struct amg_margo_refs *refs = &mid->refs;
    unsigned owed = 0;
    bool is_held = false;

    amg_lock_lock(&all.lock);
    *ret_begins = refs->count == 1 && !refs->has_begun;
    refs->has_begun = refs->has_begun || *ret_begins;
    owed = refs->has_begun && !refs->is_returned;
    is_held = refs->count > owed;
    refs->count -= is_held;
    amg_lock_unlock(&all.lock);
    return is_held || *ret_begins;
}

void amg_margo_refs_finalize(margo_instance_id mid)
{
    amg_lock_lock(&all.lock);
    mid->refs.has_begun = true;
    amg_lock_unlock(&all.lock);
}

void amg_margo_refs_finalized(margo_instance_id mid)
{
    amg_lock_lock(&all.lock);
    AMG_ASSERT(mid->refs.has_begun && !mid->refs.is_returned);
    AMG_ASSERT(mid->refs.count > 0);
    mid->refs.is_returned = true;
    mid->refs.count--;
    amg_lock_unlock(&all.lock);
}

bool amg_margo_refs_close(margo_instance_id mid, bool *ret_is_mine)
{
    bool is_over = false;

    amg_lock_lock(&all.lock);
    is_over = mid->refs.count == 0;
    *ret_is_mine = is_over && !mid->refs.is_closing;
    mid->refs.is_closing = is_over;
    amg_lock_unlock(&all.lock);
    return is_over;
}

bool amg_margo_instance_ref_count(margo_instance_id mid, unsigned *ret_count)
{
    bool is_known = false;

    amg_lock_lock(&all.lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        *ret_count = mid->refs.count;
    amg_lock_unlock(&all.lock);
    return is_known;
}
