/* SPDX-License-Identifier: BSD-3-Clause */
/* Finalization of an instance, which any thread may request.
 *
 *   step                              by
 *   prefinalize callbacks             the first caller; from a callback of the
 *                                     loop, a thread created for that
 *   calls and handlers end, other     the loop, which still runs; in a job,
 *   ranks reach the same point        until all ranks are there
 *   stop: finalize callbacks          a waiting thread in none of the streams
 *                                     that end; else the loop
 *   without references: class and     the same, or the thread that releases
 *   context are closed                the last reference
 *   then the loop is joined, streams  a waiting thread, or that which releases
 *   and pools end                     the last reference, if it runs in none
 *                                     of these streams
 *
 * So a handler can request the end, and a thread that waits for the end does
 * the rest. A thread that runs handlers or callbacks of the instance never
 * waits. While a handler runs, margo_finalize() waits in the primary thread
 * alone.
 *
 * Calls about the end may come late, or twice, or from several threads. So this
 * file lists all instances, with their references. An instance is opened with
 * one reference. margo_finalize(), or the margo_instance_release() of the last
 * reference, begins the end with that reference, and the end drops it when
 * serving is over. So the count never is 0 while callbacks of the end take
 * references and release them. When the count is 0, the class, the context and
 * the pools are closed. The memory of the last CLOSED_KEPT closed instances is
 * kept, so that a late call finds out that its instance has ended.
 *
 * A child of fork() has the memory of an instance, but no thread that runs its
 * loop or its handlers: a wait for these threads would never end, and a lock
 * that such a thread held during fork() stays locked. So before fork() returns
 * in the child, fork_child() sets the state of each instance of the parent to
 * INHERITED, the last state: calls find the instance stopped before they lock
 * or wait, like after its end. Calls that end the instance return at once, with
 * success: the instance ends in the parent. */
#include "margo/loop.h"

#include <stdlib.h>

#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/bias.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/process.h"
#include "core/context.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "margo/request.h"
#include "margo/rpc.h"

/* A function that is called while the instance ends; owned by its list. */
struct callback {
    struct amg_link link;
    const void *owner; /* NULL: of no provider */
    margo_finalize_callback_t function;
    void *arg;
};

static struct amg_list *list_of(margo_instance_id mid, bool before)
{
    return before ? &mid->finalize->callbacks.before
                  : &mid->finalize->callbacks.after;
}

/* `caller`: the public call, for the log. */
static void callback_push(margo_instance_id mid, bool before, const void *owner,
    margo_finalize_callback_t function, void *arg, const char *caller)
{
    struct callback *callback = NULL;

    if (!AMG_CONTRACT_OF(caller, mid != MARGO_INSTANCE_NULL, "mid is NULL") ||
        !AMG_CONTRACT_OF(caller, function != NULL, "the function is NULL"))
        return;
    callback = amg_mem_zalloc(sizeof(*callback));
    if (callback == NULL) {
        margo_error(mid, "%s: no memory; nothing is pushed", caller);
        return;
    }
    callback->owner = owner;
    callback->function = function;
    callback->arg = arg;
    amg_lock_lock(&mid->finalize->callbacks.lock);
    amg_list_push_front(list_of(mid, before), &callback->link);
    amg_lock_unlock(&mid->finalize->callbacks.lock);
}

/* The newest callback of an owner, or NULL. */
static struct callback *callback_find_locked(
    margo_instance_id mid, bool before, const void *owner)
{
    struct amg_list *list = list_of(mid, before);
    struct amg_link *link = amg_list_first(list);

    AMG_ASSERT_HELD(&mid->finalize->callbacks.lock);
    for (; link != NULL; link = amg_list_next(list, link)) {
        struct callback *callback =
            amg_container_of(link, struct callback, link);

        if (callback->owner == owner)
            return callback;
    }
    return NULL;
}

int amalgam_margo_callback_get(margo_instance_id mid, int is_before,
    const void *owner, void (*ref)(margo_finalize_callback_t cb, void *arg),
    margo_finalize_callback_t *ret_cb, void **ret_arg)
{
    struct callback *callback = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(ret_cb) || !AMG_GIVEN(ret_arg))
        return 0;
    amg_lock_lock(&mid->finalize->callbacks.lock);
    callback = callback_find_locked(mid, is_before != 0, owner);
    if (callback != NULL) {
        *ret_cb = callback->function;
        *ret_arg = callback->arg;
        if (ref != NULL)
            ref(*ret_cb, *ret_arg);
        else
            amg_list_remove(&callback->link);
    }
    amg_lock_unlock(&mid->finalize->callbacks.lock);
    if (callback != NULL && ref == NULL)
        amg_mem_free(callback);
    return callback != NULL;
}

static void ref_none(margo_finalize_callback_t function, void *arg)
{
    (void)function;
    (void)arg;
}

static int callback_pop(margo_instance_id mid, bool before, const void *owner)
{
    margo_finalize_callback_t function = NULL;
    void *arg = NULL;

    return amalgam_margo_callback_get(
        mid, before, owner, NULL, &function, &arg);
}

static int callback_top(margo_instance_id mid, bool before, const void *owner,
    margo_finalize_callback_t *ret_function, void **ret_arg)
{
    margo_finalize_callback_t function = NULL;
    void *arg = NULL;

    if (!amalgam_margo_callback_get(
            mid, before, owner, ref_none, &function, &arg))
        return 0;
    if (ret_function != NULL)
        *ret_function = function;
    if (ret_arg != NULL)
        *ret_arg = arg;
    return 1;
}

/* Removes the first callback of a list, or NULL. */
static struct callback *callback_take(margo_instance_id mid, bool before)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&mid->finalize->callbacks.lock);
    link = amg_list_pop(list_of(mid, before));
    amg_lock_unlock(&mid->finalize->callbacks.lock);
    return link == NULL ? NULL : amg_container_of(link, struct callback, link);
}

static void callbacks_run(margo_instance_id mid, bool before)
{
    struct callback *callback = NULL;

    while ((callback = callback_take(mid, before)) != NULL) {
        margo_finalize_callback_t function = callback->function;
        void *arg = callback->arg;

        amg_mem_free(callback);
        function(arg);
    }
}

static void callbacks_fini(margo_instance_id mid)
{
    unsigned before = 0;

    for (before = 0; before < 2; before++) {
        struct callback *callback = NULL;

        while ((callback = callback_take(mid, before != 0)) != NULL)
            amg_mem_free(callback);
    }
}

void margo_push_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, true, NULL, cb, uargs, __func__);
}

int margo_pop_prefinalize_callback(margo_instance_id mid)
{
    return callback_pop(mid, true, NULL);
}

int margo_top_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, true, NULL, cb, uargs);
}

void margo_provider_push_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, true, owner, cb, uargs, __func__);
}

int margo_provider_pop_prefinalize_callback(
    margo_instance_id mid, const void *owner)
{
    return callback_pop(mid, true, owner);
}

int margo_provider_top_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, true, owner, cb, uargs);
}

void margo_push_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, false, NULL, cb, uargs, __func__);
}

int margo_pop_finalize_callback(margo_instance_id mid)
{
    return callback_pop(mid, false, NULL);
}

int margo_top_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, false, NULL, cb, uargs);
}

void margo_provider_push_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, false, owner, cb, uargs, __func__);
}

int margo_provider_pop_finalize_callback(
    margo_instance_id mid, const void *owner)
{
    return callback_pop(mid, false, owner);
}

int margo_provider_top_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, false, owner, cb, uargs);
}

/* Pending operations are logged for the first time after 1/LOG_PART of the time
 * limit, then each time after twice as long, up to AMALGAM_SILENT_MS. */
enum { LOG_PART = 10 };

enum { CLOSED_KEPT = 8 };

static const bool edges[AMG_MARGO_STATE_COUNT][AMG_MARGO_STATE_COUNT] = {
    [AMG_MARGO_OPENING] =
        {[AMG_MARGO_RUNNING] = true, [AMG_MARGO_CLOSED] = true},
    [AMG_MARGO_RUNNING] = {[AMG_MARGO_FINALIZING] = true},
    [AMG_MARGO_FINALIZING] = {[AMG_MARGO_STOPPED] = true},
    [AMG_MARGO_STOPPED] = {[AMG_MARGO_CLOSED] = true},
};

static void set_state(margo_instance_id mid, enum amg_margo_state next)
{
    AMG_ASSERT(
        edges[atomic_load_explicit(&mid->state, memory_order_relaxed)][next]);
    atomic_store_explicit(&mid->state, next, memory_order_release);
}

/* All instances of the process; the lock, which fork() waits for, also guards
 * their `refs`. */
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

/* The id is only compared, since its instance may be freed. */
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

/* Is it an instance of the parent of this process? The id is only compared. */
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
    set_state(mid, AMG_MARGO_RUNNING);
}

/* Begins a public call: keeps the memory of the instance until
 * instance_leave(). False: the instance is not known, or freed. */
static bool instance_enter(margo_instance_id mid)
{
    bool is_known = false;

    amg_lock_lock(&all_lock);
    is_known = mid != MARGO_INSTANCE_NULL && is_known_locked(mid);
    if (is_known)
        mid->refs.callers++;
    amg_lock_unlock(&all_lock);
    return is_known;
}

/* Keeps the memory of a closed instance; returns the oldest if there are too
 * many, else NULL. */
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

/* References of the finalization, which no caller may drop. */
static unsigned refs_owed(const struct amg_margo_refs *refs)
{
    AMG_ASSERT(refs->is_returned <= refs->has_begun);
    return refs->has_begun && !refs->is_returned;
}

/* Drops a reference if other references remain, so that nothing ends. False:
 * nothing was done. */
static bool instance_unref_many(margo_instance_id mid)
{
    bool is_done = false;

    amg_lock_lock(&all_lock);
    if (mid != MARGO_INSTANCE_NULL && is_known_locked(mid)) {
        struct amg_margo_refs *refs = &mid->refs;

        is_done = refs->count > 1 + refs_owed(refs);
        refs->count -= is_done;
    }
    amg_lock_unlock(&all_lock);
    return is_done;
}

/* Drops a reference. `ret_begins`: was the last reference, so the caller begins
 * the finalization. False: the caller cannot have a reference. */
static bool instance_unref(margo_instance_id mid, bool *ret_begins)
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

/* Notes that the finalization has begun, and has a reference. */
static void refs_finalize(margo_instance_id mid)
{
    amg_lock_lock(&all_lock);
    AMG_ASSERT(!mid->refs.is_returned);
    mid->refs.has_begun = true;
    amg_lock_unlock(&all_lock);
}

/* Drops the reference of the finalization. */
static void refs_finalized(margo_instance_id mid)
{
    amg_lock_lock(&all_lock);
    AMG_ASSERT(mid->refs.has_begun && !mid->refs.is_returned);
    AMG_ASSERT(mid->refs.count > 0);
    mid->refs.is_returned = true;
    mid->refs.count--;
    amg_lock_unlock(&all_lock);
}

/* Are there no references? Then no caller can take one any more, and the first
 * caller, told by `ret_is_mine`, closes the instance. */
static bool refs_close(margo_instance_id mid, bool *ret_is_mine)
{
    bool is_over = false;

    amg_lock_lock(&all_lock);
    is_over = mid->refs.count == 0;
    *ret_is_mine = is_over && !mid->refs.is_closing;
    mid->refs.is_closing = is_over;
    amg_lock_unlock(&all_lock);
    return is_over;
}

void amg_margo_finalize_init(margo_instance_id mid)
{
    static const ABT_mutex_memory mutex = ABT_MUTEX_INITIALIZER;
    static const ABT_cond_memory cond = ABT_COND_INITIALIZER;
    struct amg_margo_finalize *finalize = mid->finalize;

    finalize->mutex = mutex;
    finalize->cond = cond;
    amg_lock_init(&finalize->callbacks.lock);
    amg_list_init(&finalize->callbacks.before);
    amg_list_init(&finalize->callbacks.after);
    atomic_init(&finalize->runner, ABT_THREAD_NULL);
}

static void finalize_lock(margo_instance_id mid)
{
    ABT_mutex_lock(ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex));
}

static void finalize_unlock(margo_instance_id mid)
{
    ABT_mutex_unlock(ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex));
}

static void change_notify(margo_instance_id mid)
{
    ABT_cond_broadcast(ABT_COND_MEMORY_GET_HANDLE(&mid->finalize->cond));
}

/* Waits for a change, with the mutex locked; logs now and then that the end
 * waits for `what`. NULL: waits for the loop, whose silence the watch logs. */
static void change_await(margo_instance_id mid, const char *what)
{
    ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(&mid->finalize->cond);
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mid->finalize->mutex);
    unsigned silent_ms = (unsigned)amg_env_number(AMG_ENV_SILENT);
    struct timespec moment;

    if (what == NULL || silent_ms == 0) {
        ABT_cond_wait(cond, mutex);
        return;
    }
    moment = amg_margo_moment(silent_ms);
    if (ABT_cond_timedwait(cond, mutex, &moment) == ABT_SUCCESS)
        return;
    ABT_mutex_unlock(mutex);
    margo_warning(mid, "the end of the instance has waited %u ms for %s",
        silent_ms, what);
    ABT_mutex_lock(mutex);
}

/* Calls of ABT_finalize() that ended instances still owe; a counter. */
static atomic_uint owed;
static atomic_bool is_registered; /* with atexit() */

/* In a child of fork(). */
static void fork_child(void)
{
    struct amg_link *link = NULL;

    atomic_store_explicit(&owed, 0, memory_order_relaxed);
    while ((link = amg_list_pop(&all.instances)) != NULL ||
           (link = amg_list_pop(&all.closed)) != NULL) {
        /* NOTE(not by set_state()): from any state. */
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
            /* Only the primary thread may make the last call, and makes it
             * later. */
            atomic_fetch_add_explicit(&owed, 1u, memory_order_relaxed);
            return;
        }
        count = atomic_load_explicit(&owed, memory_order_relaxed);
    }
}

static void hg_close(margo_instance_id mid)
{
    hg_return_t rc = HG_SUCCESS;

    if (mid->hg_context != NULL && mid->owns_context)
        rc = HG_Context_destroy(mid->hg_context);
    if (rc != HG_SUCCESS)
        margo_error(mid,
            "the context stays open: HG_Context_destroy() returned %s; the "
            "line before this one says what is in use",
            HG_Error_to_string(rc));
    else if (mid->hg_class != NULL && mid->owns_class &&
             (rc = HG_Finalize(mid->hg_class)) != HG_SUCCESS)
        margo_error(mid,
            "the class stays open: HG_Finalize() returned %s; the line before "
            "this one says what is still in use and must be freed before "
            "margo_finalize()",
            HG_Error_to_string(rc));
    mid->hg_context = NULL;
    mid->hg_class = NULL;
}

void amg_margo_close_network(margo_instance_id mid)
{
    if (mid->is_abandoned)
        return;
    amg_margo_handles_close(mid);
    amg_margo_rpcs_fini(mid);
    amg_margo_services_close(mid);
    hg_close(mid);
    amg_margo_monitoring_close(mid);
}

void amg_margo_instance_free(margo_instance_id mid)
{
    if (amg_margo_state_of(mid) == AMG_MARGO_OPENING)
        set_state(mid, AMG_MARGO_CLOSED);
    /* A late call reads the key, to find out whether its caller is a
     * handler. */
    amg_margo_handles_fini(mid);
    callbacks_fini(mid);
    amg_margo_requests_close(mid);
    amg_mem_free(mid);
}

/* Notes whether the calling thread runs callbacks. */
static void runner_set(margo_instance_id mid, bool runs)
{
    ABT_thread self = amg_margo_self();

    atomic_store_explicit(&mid->finalize->runner, runs ? self : ABT_THREAD_NULL,
        memory_order_relaxed);
    atomic_store_explicit(&mid->finalize->runner_os,
        runs && self == ABT_THREAD_NULL ? amg_bias_mark() : 0,
        memory_order_relaxed);
}

static bool is_runner(margo_instance_id mid)
{
    ABT_thread self = amg_margo_self();

    if (self != ABT_THREAD_NULL)
        return self == atomic_load_explicit(
                           &mid->finalize->runner, memory_order_relaxed);
    return amg_bias_mark() == atomic_load_explicit(&mid->finalize->runner_os,
                                  memory_order_relaxed);
}

static bool may_wait(margo_instance_id mid)
{
    return !amg_margo_handler_is_self(mid) && !amg_margo_is_loop(mid) &&
           !is_runner(mid) && !amg_margo_is_tasklet();
}

/* May the caller end the streams of the instance? */
static bool may_end_streams(margo_instance_id mid)
{
    struct margo_xstream_info info;
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_bool is_primary = ABT_FALSE;

    if (ABT_xstream_self(&self) != ABT_SUCCESS || self == ABT_XSTREAM_NULL)
        return true;
    if (ABT_self_on_primary_xstream(&is_primary) == ABT_SUCCESS &&
        is_primary == ABT_TRUE)
        return true;
    return margo_find_xstream_by_handle(mid, self, &info) != HG_SUCCESS;
}

static void deadline_set(margo_instance_id mid)
{
    unsigned timeout_ms = (unsigned)amg_env_number(AMG_ENV_FINALIZE_TIMEOUT);

    mid->finalize->deadline_ns = amg_clock_deadline_ns(timeout_ms);
    mid->finalize->log_ms = timeout_ms / LOG_PART;
    mid->finalize->log_ns = amg_clock_deadline_ns(mid->finalize->log_ms);
}

static void before_run(void *arg)
{
    margo_instance_id mid = arg;
    struct margo_monitor_prefinalize_args event = {.uctx = {.p = NULL}};

    AMG_MARGO_NOTIFY(mid, prefinalize, MARGO_MONITOR_FN_START, &event);
    runner_set(mid, true);
    callbacks_run(mid, true);
    runner_set(mid, false);
    AMG_MARGO_NOTIFY(mid, prefinalize, MARGO_MONITOR_FN_END, &event);
    deadline_set(mid);
    /* The operation keeps the context open until the loop has been woken. */
    amg_margo_operation_begin(mid);
    atomic_store_explicit(&mid->is_draining, true, memory_order_release);
    amg_margo_wake(mid);
    amg_margo_operation_end(mid);
}

/* Begins finalization. False: another call has begun finalization before. */
static bool finalize_begin(margo_instance_id mid)
{
    bool is_first = false;

    finalize_lock(mid);
    is_first = amg_margo_state_of(mid) == AMG_MARGO_RUNNING;
    if (is_first)
        set_state(mid, AMG_MARGO_FINALIZING);
    finalize_unlock(mid);
    if (!is_first)
        return false;
    refs_finalize(mid);
    /* The loop cannot run callbacks that wait for its own progress. */
    if (!amg_margo_is_loop(mid) ||
        ABT_thread_create(mid->pools->progress_pool, before_run, mid,
            ABT_THREAD_ATTR_NULL, NULL) != ABT_SUCCESS)
        before_run(mid);
    return true;
}

/* Logs now and then what finalization waits for. */
static void wait_log(
    margo_instance_id mid, unsigned operations, unsigned handlers)
{
    if (amg_clock_ns() < mid->finalize->log_ns)
        return;
    if (mid->finalize->log_ms < amg_env_number(AMG_ENV_SILENT) / 2)
        mid->finalize->log_ms *= 2;
    mid->finalize->log_ns = amg_clock_deadline_ns(mid->finalize->log_ms);
    margo_warning(mid,
        "finalize waits for %u running handlers and %u calls in flight:",
        handlers, operations);
    amg_margo_handles_log(mid);
}

/* Have all calls and handlers of this process ended? Cancels calls after the
 * time limit, and abandons them after a second time limit. */
static bool is_quiet(margo_instance_id mid)
{
    unsigned operations =
        atomic_load_explicit(&mid->operations, memory_order_acquire);
    unsigned handlers =
        atomic_load_explicit(&mid->handlers, memory_order_acquire);

    if (operations == 0 && handlers == 0) {
        amg_margo_counts_sync(mid);
        return true;
    }
    wait_log(mid, operations, handlers);
    if (amg_clock_ns() < mid->finalize->deadline_ns)
        return false;
    if (!mid->finalize->was_cancelled) {
        margo_warning(mid,
            "finalize cancels calls after AMALGAM_FINALIZE_TIMEOUT_MS: %u "
            "calls are in flight, and %u handlers run",
            operations, handlers);
        mid->finalize->was_cancelled = true;
        deadline_set(mid);
        amg_margo_calls_cancel(mid);
        amg_margo_bulk_cancel(mid);
        return false;
    }
    margo_error(mid,
        "finalize gives up on %u calls and %u handlers that do not end; their "
        "memory is not freed; margo_state_dump() shows where handlers wait",
        operations, handlers);
    mid->is_abandoned = true;
    return true;
}

/* Called by the loop between two rounds: may the loop end? */
static bool has_drained(margo_instance_id mid)
{
    if (!atomic_load_explicit(&mid->is_draining, memory_order_acquire) ||
        !is_quiet(mid))
        return false;
    return !mid->is_collective || amg_class_quiesce(mid->hg_class) != HG_AGAIN;
}

/* Runs finalize callbacks, drops the reference of the finalization, and wakes
 * all waiting threads. */
static void finalize_stop(margo_instance_id mid)
{
    struct margo_monitor_finalize_args event = {.uctx = {.p = NULL}};

    AMG_ASSERT(amg_margo_state_of(mid) == AMG_MARGO_STOPPED);
    amg_margo_watch_close(mid);
    amg_margo_timers_fini(mid);
    AMG_MARGO_NOTIFY(mid, finalize, MARGO_MONITOR_FN_START, &event);
    runner_set(mid, true);
    callbacks_run(mid, false);
    runner_set(mid, false);
    AMG_MARGO_NOTIFY(mid, finalize, MARGO_MONITOR_FN_END, &event);
    refs_finalized(mid);
    finalize_lock(mid);
    mid->finalize->is_stopped = true;
    change_notify(mid);
    finalize_unlock(mid);
}

static void close_rest(margo_instance_id mid)
{
    amg_margo_loop_stop(mid);
    if (mid->is_abandoned)
        return;
    amg_margo_pools_close(mid);
    amg_margo_config_free(mid->config);
}

/* Ends streams and pools, once; called by a thread that runs in no such
 * stream. */
static void streams_end(margo_instance_id mid)
{
    bool is_mine = false;

    finalize_lock(mid);
    is_mine = !mid->finalize->is_ending_streams;
    mid->finalize->is_ending_streams = true;
    while (!is_mine && amg_margo_state_of(mid) != AMG_MARGO_CLOSED)
        change_await(mid, "another thread to end its streams");
    finalize_unlock(mid);
    if (!is_mine)
        return;
    AMG_ASSERT(amg_margo_state_of(mid) == AMG_MARGO_STOPPED);
    close_rest(mid);
    finalize_lock(mid);
    set_state(mid, AMG_MARGO_CLOSED);
    change_notify(mid);
    finalize_unlock(mid);
    /* Handlers of an abandoned instance still run in its streams, so a join of
     * these streams would never return. */
    if (!mid->is_abandoned)
        amg_margo_runtime_leave();
}

/* Closes the instance when there are no references. */
static void close_if_unreferenced(margo_instance_id mid, bool ends_streams)
{
    bool is_mine = false;

    if (!refs_close(mid, &is_mine))
        return;
    if (is_mine)
        amg_margo_close_network(mid);
    finalize_lock(mid);
    if (is_mine) {
        mid->finalize->is_closed = true;
        change_notify(mid);
    }
    while (!mid->finalize->is_closed)
        change_await(mid, "another thread to close its class");
    finalize_unlock(mid);
    if (ends_streams)
        streams_end(mid);
}

/* Called by the loop as its last act. */
static void loop_ended(margo_instance_id mid)
{
    bool is_mine = false;

    set_state(mid, AMG_MARGO_STOPPED);
    finalize_lock(mid);
    mid->finalize->is_drained = true;
    is_mine = mid->finalize->closers == 0 && !mid->finalize->is_claimed;
    mid->finalize->is_claimed = mid->finalize->is_claimed || is_mine;
    change_notify(mid);
    finalize_unlock(mid);
    if (!is_mine)
        return;
    finalize_stop(mid);
    close_if_unreferenced(mid, false);
}

const struct amg_margo_loop_end amg_margo_finalize_of_loop = {
    .has_drained = has_drained,
    .ended = loop_ended,
};

/* Called at the end of a public call. */
static void release(margo_instance_id mid)
{
    margo_instance_id old = instance_leave(mid);

    if (old != MARGO_INSTANCE_NULL)
        amg_margo_instance_free(old);
    amg_margo_runtime_finalize();
}

/* Waits for the end of the loop, and does the remaining steps; called by a
 * thread that may wait. */
static void finalize_finish(margo_instance_id mid)
{
    bool ends_streams = may_end_streams(mid);
    bool is_mine = false;

    if (amg_margo_loop_may_stall(mid) &&
        amg_margo_state_of(mid) == AMG_MARGO_FINALIZING)
        amg_margo_watch_set(mid);
    finalize_lock(mid);
    mid->finalize->closers += ends_streams;
    while (!mid->finalize->is_drained)
        change_await(mid, NULL);
    is_mine = ends_streams && !mid->finalize->is_claimed;
    mid->finalize->is_claimed = mid->finalize->is_claimed || is_mine;
    finalize_unlock(mid);
    if (is_mine)
        finalize_stop(mid);
    finalize_lock(mid);
    while (!mid->finalize->is_stopped)
        change_await(mid, "the finalize callbacks, which another thread runs");
    finalize_unlock(mid);
    close_if_unreferenced(mid, ends_streams);
    finalize_lock(mid);
    mid->finalize->closers -= ends_streams;
    finalize_unlock(mid);
}

/* Waits for the end, unless the end would wait for the caller. */
static void finish_or_refuse(margo_instance_id mid, const char *caller)
{
    if (may_wait(mid))
        finalize_finish(mid);
    else
        margo_error(mid,
            "%s: called by a tasklet, or by a handler or a callback of the "
            "instance, which would wait for its own end; margo_finalize() asks "
            "for the end and returns",
            caller);
}

/* Calls instance_enter(), and logs an error. */
static bool enter_or_log(margo_instance_id mid, const char *caller)
{
    if (is_inherited(mid))
        return false;
    if (instance_enter(mid))
        return true;
    margo_error(MARGO_INSTANCE_NULL,
        mid == MARGO_INSTANCE_NULL
            ? "%s: the instance is NULL"
            : "%s: no such instance, or it has ended before",
        caller);
    return false;
}

/* May a running handler wait for the caller, for example a thread that the
 * handler has started? Then the caller does not wait, and the loop ends the
 * instance after the last handler. The primary thread waits all the same:
 * MPI_Finalize() may follow. */
static bool may_be_awaited(margo_instance_id mid)
{
    ABT_bool is_primary = ABT_FALSE;

    return atomic_load_explicit(&mid->handlers, memory_order_acquire) > 0 &&
           !(ABT_self_is_primary(&is_primary) == ABT_SUCCESS &&
               is_primary == ABT_TRUE);
}

void margo_finalize(margo_instance_id mid)
{
    bool is_first = false;
    bool is_alone = false;

    if (!enter_or_log(mid, __func__))
        return;
    is_first = finalize_begin(mid);
    finalize_lock(mid);
    is_alone = mid->finalize->closers == 0;
    finalize_unlock(mid);
    if (may_wait(mid) && !may_be_awaited(mid) && (is_first || is_alone))
        finalize_finish(mid);
    release(mid);
}

void margo_finalize_and_wait(margo_instance_id mid)
{
    if (!enter_or_log(mid, __func__))
        return;
    finalize_begin(mid);
    finish_or_refuse(mid, __func__);
    release(mid);
}

void margo_wait_for_finalize(margo_instance_id mid)
{
    if (!enter_or_log(mid, __func__))
        return;
    finish_or_refuse(mid, __func__);
    release(mid);
}

hg_return_t margo_instance_is_finalized(margo_instance_id mid, bool *flag)
{
    if (!AMG_GIVEN(flag) || !instance_enter(mid))
        return HG_INVALID_ARG;
    finalize_lock(mid);
    *flag = mid->finalize->is_stopped;
    finalize_unlock(mid);
    release(mid);
    return HG_SUCCESS;
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

hg_return_t margo_instance_release(margo_instance_id mid)
{
    bool begins = false;
    hg_return_t rc = HG_SUCCESS;

    if (is_inherited(mid) || instance_unref_many(mid))
        return HG_SUCCESS;
    if (!instance_enter(mid))
        return HG_INVALID_ARG;
    if (!instance_unref(mid, &begins)) {
        margo_error(mid,
            "%s: the caller has no reference to the instance, which is ending",
            __func__);
        rc = HG_INVALID_ARG;
    } else if (!begins) {
        close_if_unreferenced(mid, may_end_streams(mid));
    } else {
        finalize_begin(mid);
        if (may_wait(mid))
            finalize_finish(mid);
    }
    release(mid);
    return rc;
}

/* For thallium.hpp: the end of an instance whose last engine goes away.
 *
 * Thallium up to 0.5 waited in the destructor of a server's engine until
 * finalize() was called, and a program's main() could end so; Thallium 0.16
 * ends nothing there. A server that no process can call any more has no reason
 * to wait: a server without an RPC of the program and without remote shutdown
 * ends at once, whatever the program wants. A server that waits logs that after
 * a second, by a timer of its loop, which fires before the wait returns. */
enum { LOG_AFTER_MS = 1000 };

/* A thread that waits for the end; on that thread's stack. */
struct end_wait {
    struct amg_margo_timer timer;
    margo_instance_id mid;
};

static void engine_log(struct amg_margo_timer *timer, bool is_due)
{
    const struct end_wait *wait =
        amg_container_of(timer, struct end_wait, timer);

    if (is_due && amg_margo_state_of(wait->mid) == AMG_MARGO_RUNNING)
        margo_warning(wait->mid,
            "the last engine of this server was destroyed without "
            "finalize(): the server goes on, and waits for "
            "finalize(); AMALGAM_ENGINE_WAIT=0 ends instead");
}

static void finalize_await(margo_instance_id mid)
{
    struct end_wait wait = {.timer = {.fire = engine_log}, .mid = mid};

    (void)amg_margo_timer_arm(
        mid, &wait.timer, amg_clock_deadline_ns(LOG_AFTER_MS));
    margo_wait_for_finalize(mid);
    AMG_ASSERT(!wait.timer.is_armed);
}

static bool may_be_called(margo_instance_id mid)
{
    return amg_margo_rpcs_are_served(mid) ||
           atomic_load_explicit(
               &mid->services->allows_shutdown, memory_order_relaxed);
}

void amalgam_margo_engine_end(
    margo_instance_id mid, enum amalgam_margo_engine_how how)
{
    bool is_running = false;

    if (!AMG_GIVEN(mid))
        return;
    is_running = amg_margo_state_of(mid) == AMG_MARGO_RUNNING;
    if (how == AMALGAM_MARGO_ENGINE_RELEASES) {
        if (is_running)
            (void)margo_instance_release(mid);
    } else if (!may_wait(mid)) {
        if (is_running)
            margo_finalize(mid);
    } else if (how == AMALGAM_MARGO_ENGINE_WAITS && is_running &&
               amg_env_number(AMG_ENV_ENGINE_WAIT) != 0 && may_be_called(mid)) {
        finalize_await(mid);
    } else {
        margo_finalize_and_wait(mid);
    }
}
