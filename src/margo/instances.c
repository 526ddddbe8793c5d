/* SPDX-License-Identifier: BSD-3-Clause */
/* All instances of the process: their states, references and memory, and the
 * runtime of user-level threads, which all instances share.
 *
 * Calls about the end of an instance may come late, or twice, or from several
 * threads. So this file lists all instances, with their references. An instance
 * is opened with one reference. margo_finalize(), or the
 * margo_instance_release() of the last reference, passes a reference to the
 * finalization, which drops the reference after the finalize callbacks. So the
 * count is never 0 while these callbacks take and release references. When the
 * count is 0, the class, the context and the pools are closed. The memory of
 * the last CLOSED_KEPT closed instances is kept, so that a late call can read
 * that its instance has ended.
 *
 * A child of fork() has the memory of an instance, but no thread that runs its
 * loop or its handlers: a wait for these threads would never end, and a lock
 * that such a thread held during fork() stays locked. So before fork() returns
 * in the child, fork_child() sets the state of each instance of the parent to
 * INHERITED, the last state. Calls read the state before they lock or wait, and
 * treat the instance as ended. Calls that end the instance return at once, with
 * success: the instance ends in the parent. */
#include "margo/instance.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/process.h"
#include "margo/handle.h"
#include "margo/loop.h"
#include "margo/request.h"

enum { CLOSED_KEPT = 8 };

static const bool edges[AMG_MARGO_STATE_COUNT][AMG_MARGO_STATE_COUNT] = {
    [AMG_MARGO_OPENING] =
        {[AMG_MARGO_RUNNING] = true, [AMG_MARGO_CLOSED] = true},
    [AMG_MARGO_RUNNING] = {[AMG_MARGO_FINALIZING] = true},
    [AMG_MARGO_FINALIZING] = {[AMG_MARGO_STOPPED] = true},
    [AMG_MARGO_STOPPED] = {[AMG_MARGO_CLOSED] = true},
};

void amg_margo_instance_set_state(
    margo_instance_id mid, enum amg_margo_state next)
{
    AMG_ASSERT(
        edges[atomic_load_explicit(&mid->state, memory_order_relaxed)][next]);
    atomic_store_explicit(&mid->state, next, memory_order_release);
}

/* All instances of the process. The lock also guards their `refs`; fork() waits
 * for the lock. */
static struct amg_lock all_lock AMG_LOCK_KEPT;
static struct {
    struct amg_list instances; /* of struct margo_instance */
    struct amg_list closed;    /* closed instances, oldest first */
    unsigned closed_count;
    struct amg_list inherited; /* of the parent of this process */
} all = {
    .instances = {{&all.instances.head, &all.instances.head}},
    .closed = {{&all.closed.head, &all.closed.head}},
    .inherited = {{&all.inherited.head, &all.inherited.head}},
};

static margo_instance_id instance_of(struct amg_link *link)
{
    return amg_container_of(link, struct margo_instance, refs.link);
}

/* Is `mid` in the list? Only compares `mid`, which may be freed already. */
static bool is_listed_locked(const struct amg_list *list, margo_instance_id mid)
{
    struct amg_link *link = amg_list_first(list);

    AMG_ASSERT_HELD(&all_lock);
    for (; link != NULL; link = amg_list_next(list, link))
        if (instance_of(link) == mid)
            return true;
    return false;
}

static bool is_known_locked(margo_instance_id mid)
{
    AMG_ASSERT_HELD(&all_lock);
    return is_listed_locked(&all.instances, mid) ||
           is_listed_locked(&all.inherited, mid);
}

/* Is `mid` an instance of the parent of this process? */
static bool is_inherited(margo_instance_id mid)
{
    bool is_found = false;

    amg_lock_lock(&all_lock);
    is_found = is_listed_locked(&all.inherited, mid);
    amg_lock_unlock(&all_lock);
    return is_found;
}

void amg_margo_instance_opened(margo_instance_id mid)
{
    amg_lock_lock(&all_lock);
    AMG_ASSERT(mid->refs.count == 0 && mid->refs.callers == 0);
    mid->refs.count = 1;
    amg_list_push(&all.instances, &mid->refs.link);
    amg_lock_unlock(&all_lock);
    amg_margo_instance_set_state(mid, AMG_MARGO_RUNNING);
}

bool amg_margo_instance_enter(margo_instance_id mid)
{
    bool is_known = false;

    amg_lock_lock(&all_lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        mid->refs.callers++;
    amg_lock_unlock(&all_lock);
    return is_known;
}

bool amg_margo_instance_enter_or_log(margo_instance_id mid, const char *caller)
{
    if (is_inherited(mid))
        return false;
    if (amg_margo_instance_enter(mid))
        return true;
    margo_error(MARGO_INSTANCE_NULL,
        mid == MARGO_INSTANCE_NULL
            ? "%s: the instance is NULL"
            : "%s: no such instance, or it has ended before",
        caller);
    return false;
}

/* Puts an instance into the list of closed instances. If the list exceeds
 * CLOSED_KEPT, removes and returns the oldest instance, else returns NULL. */
static margo_instance_id retire_locked(margo_instance_id mid)
{
    AMG_ASSERT_HELD(&all_lock);
    amg_list_remove(&mid->refs.link);
    amg_list_push(&all.closed, &mid->refs.link);
    if (all.closed_count < CLOSED_KEPT) {
        all.closed_count++;
        return MARGO_INSTANCE_NULL;
    }
    return instance_of(amg_list_pop(&all.closed));
}

/* Ends a public call. Returns an instance whose memory the caller has to free,
 * or NULL. */
static margo_instance_id instance_leave(margo_instance_id mid)
{
    margo_instance_id old = MARGO_INSTANCE_NULL;

    amg_lock_lock(&all_lock);
    AMG_ASSERT(mid->refs.callers > 0);
    mid->refs.callers--;
    if (mid->refs.callers == 0 && mid->refs.count == 0 &&
        amg_margo_state_of(mid) == AMG_MARGO_CLOSED && !mid->is_abandoned)
        old = retire_locked(mid);
    amg_lock_unlock(&all_lock);
    return old;
}

/* Number of calls of ABT_finalize() that are due for ended instances. */
static atomic_uint owed;
static atomic_bool is_registered; /* atexit() and fork() functions are set */

/* Called in a child of fork(), before fork() returns. */
static void fork_child(void)
{
    struct amg_link *link = NULL;

    atomic_store_explicit(&owed, 0, memory_order_relaxed);
    while ((link = amg_list_pop(&all.instances)) != NULL ||
           (link = amg_list_pop(&all.closed)) != NULL) {
        /* NOTE(not by amg_margo_instance_set_state()): legal from any state. */
        atomic_store_explicit(&instance_of(link)->state, AMG_MARGO_INHERITED,
            memory_order_relaxed);
        amg_list_push(&all.inherited, link);
    }
    all.closed_count = 0;
}

bool amg_margo_runtime_enter(bool *ret_is_first)
{
    bool is_first = ABT_initialized() != ABT_SUCCESS;
    int rc = ABT_init(0, NULL);

    if (rc != ABT_SUCCESS) {
        margo_error(MARGO_INSTANCE_NULL,
            "user-level threads cannot be started: ABT_init() returned %d", rc);
        return false;
    }
    if (!atomic_exchange_explicit(&is_registered, true, memory_order_relaxed)) {
        (void)atexit(amg_margo_runtime_finalize);
        amg_fork_watch();
        amg_fork_tell(NULL, NULL, fork_child);
    }
    *ret_is_first = is_first;
    return true;
}

void amg_margo_runtime_leave(void)
{
    atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
}

void amg_margo_runtime_finalize(void)
{
    unsigned count = atomic_load_explicit(&owed, memory_order_relaxed);

    while (count > 0) {
        if (!atomic_compare_exchange_weak_explicit(&owed, &count, count - 1u,
                memory_order_relaxed, memory_order_relaxed))
            continue;
        if (ABT_finalize() != ABT_SUCCESS) {
            /* Only the primary thread may make the last call: leaves the call
             * to that thread. */
            atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
            return;
        }
        count = atomic_load_explicit(&owed, memory_order_relaxed);
    }
}

void amg_margo_instance_free(margo_instance_id mid)
{
    if (amg_margo_state_of(mid) == AMG_MARGO_OPENING)
        amg_margo_instance_set_state(mid, AMG_MARGO_CLOSED);
    /* The key is freed here, not earlier, because a late call reads the key, to
     * find out whether the caller is a handler. */
    amg_margo_handles_fini(mid);
    amg_margo_callbacks_fini(mid);
    amg_margo_requests_close(mid);
    amg_mem_free(mid);
}

void amg_margo_instance_leave(margo_instance_id mid)
{
    margo_instance_id old = instance_leave(mid);

    if (old != MARGO_INSTANCE_NULL)
        amg_margo_instance_free(old);
    amg_margo_runtime_finalize();
}

/* The finalization's references, which no caller may drop: 0 or 1. */
static unsigned refs_owed(const struct amg_margo_refs *refs)
{
    AMG_ASSERT(refs->is_returned <= refs->has_begun);
    return refs->has_begun && !refs->is_returned;
}

bool amg_margo_instance_unref_many(margo_instance_id mid)
{
    bool is_done = false;

    amg_lock_lock(&all_lock);
    if (is_listed_locked(&all.inherited, mid)) {
        is_done = true;
    } else if (mid != MARGO_INSTANCE_NULL && is_known_locked(mid)) {
        struct amg_margo_refs *refs = &mid->refs;

        is_done = refs->count > 1 + refs_owed(refs);
        refs->count -= is_done;
    }
    amg_lock_unlock(&all_lock);
    return is_done;
}

bool amg_margo_instance_unref(margo_instance_id mid, bool *ret_begins)
{
    struct amg_margo_refs *refs = &mid->refs;
    bool is_held = false;

    amg_lock_lock(&all_lock);
    AMG_ASSERT(refs->callers > 0);
    *ret_begins = refs->count == 1 && !refs->has_begun;
    refs->has_begun = refs->has_begun || *ret_begins;
    is_held = refs->count > refs_owed(refs);
    refs->count -= is_held;
    amg_lock_unlock(&all_lock);
    return is_held || *ret_begins;
}

void amg_margo_refs_finalize(margo_instance_id mid)
{
    amg_lock_lock(&all_lock);
    AMG_ASSERT(!mid->refs.is_returned);
    mid->refs.has_begun = true;
    amg_lock_unlock(&all_lock);
}

void amg_margo_refs_finalized(margo_instance_id mid)
{
    amg_lock_lock(&all_lock);
    AMG_ASSERT(mid->refs.has_begun && !mid->refs.is_returned);
    AMG_ASSERT(mid->refs.count > 0);
    mid->refs.is_returned = true;
    mid->refs.count--;
    amg_lock_unlock(&all_lock);
}

bool amg_margo_refs_close(margo_instance_id mid, bool *ret_is_mine)
{
    bool is_over = false;

    amg_lock_lock(&all_lock);
    is_over = mid->refs.count == 0;
    *ret_is_mine = is_over && !mid->refs.is_closing;
    mid->refs.is_closing = is_over;
    amg_lock_unlock(&all_lock);
    return is_over;
}

hg_return_t margo_instance_ref_incr(margo_instance_id mid)
{
    bool is_open = false;

    amg_lock_lock(&all_lock);
    is_open = mid != MARGO_INSTANCE_NULL && is_known_locked(mid) &&
              !mid->refs.is_closing;
    if (is_open)
        mid->refs.count++;
    amg_lock_unlock(&all_lock);
    return is_open ? HG_SUCCESS : HG_INVALID_ARG;
}

hg_return_t margo_instance_ref_count(margo_instance_id mid, unsigned *refcount)
{
    bool is_known = false;

    if (!AMG_GIVEN(refcount))
        return HG_INVALID_ARG;
    amg_lock_lock(&all_lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        *refcount = mid->refs.count;
    amg_lock_unlock(&all_lock);
    return is_known ? HG_SUCCESS : HG_INVALID_ARG;
}
