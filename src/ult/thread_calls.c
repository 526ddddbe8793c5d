/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions that create, join, resume, migrate and free user-level
 * threads and tasklets, or let the caller yield, suspend itself or end. */
#include <sched.h>
#include <stddef.h>

#include "base/assert.h"
#include "ult/park.h"
#include "ult/sched.h"
#include "ult/switch_to.h"

/* Creates a NEW thread. Returns an ABT code. */
static int thread_new(const struct amg_ult_spec *spec, ABT_thread *ret_thread,
    struct amg_ult **ret_ult)
{
    amg_handle_clear(ret_thread);
    if (spec->pool == NULL)
        return ABT_ERR_INV_POOL;
    if (spec->function == NULL)
        return ABT_ERR_INV_ARG;
    *ret_ult = amg_ult_create(spec);
    if (*ret_ult == NULL)
        return ABT_ERR_MEM;
    if (ret_thread != NULL)
        *ret_thread = amg_ult_handle(*ret_ult);
    return ABT_SUCCESS;
}

static AMG_INLINE int thread_start(
    const struct amg_ult_spec *spec, ABT_thread *ret_thread)
{
    struct amg_ult *ult = NULL;
    int rc = thread_new(spec, ret_thread, &ult);

    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_set_state(ult, AMG_ULT_READY);
    amg_ready_pool_push(spec->pool, ult, 0);
    return ABT_SUCCESS;
}

int ABT_thread_create(ABT_pool pool, void (*thread_func)(void *), void *arg,
    ABT_thread_attr attr, ABT_thread *newthread)
{
    const struct amg_ult_spec spec = {.kind = AMG_ULT_THREAD,
        .pool = amg_ready_pool_of(pool),
        .function = thread_func,
        .arg = arg,
        .attr = amg_thread_attr_of(attr),
        .is_named = newthread != NULL};

    return thread_start(&spec, newthread);
}

int ABT_task_create(
    ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *newtask)
{
    const struct amg_ult_spec spec = {.kind = AMG_ULT_TASKLET,
        .pool = amg_ready_pool_of(pool),
        .function = task_func,
        .arg = arg,
        .is_named = newtask != NULL};

    return thread_start(&spec, newtask);
}

int ABT_thread_create_to(ABT_pool pool, void (*thread_func)(void *), void *arg,
    ABT_thread_attr attr, ABT_thread *newthread)
{
    const struct amg_ult_spec spec = {.kind = AMG_ULT_THREAD,
        .pool = amg_ready_pool_of(pool),
        .function = thread_func,
        .arg = arg,
        .attr = amg_thread_attr_of(attr),
        .is_named = newthread != NULL};
    struct amg_ult *self = amg_ult_self();
    struct amg_ult *ult = NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    int rc = ABT_SUCCESS;

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (self == NULL)
        return amg_ult_current() == NULL ? amg_ult_none_code()
                                         : ABT_ERR_INV_THREAD;
    rc = thread_new(&spec, newthread == NULL ? NULL : &thread, &ult);
    if (rc != ABT_SUCCESS)
        return rc;
    if (newthread != NULL)
        *newthread = thread;
    amg_ult_switch_to(self, AMG_SWITCH_YIELD, NULL, ult);
    return ABT_SUCCESS;
}

int ABT_thread_create_on_xstream(ABT_xstream xstream,
    void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
    ABT_thread *newthread)
{
    ABT_pool pool = ABT_POOL_NULL;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newthread);
    rc = ABT_xstream_get_main_pools(xstream, 1, &pool);
    return rc != ABT_SUCCESS
               ? rc
               : ABT_thread_create(pool, thread_func, arg, attr, newthread);
}

int ABT_task_create_on_xstream(ABT_xstream xstream, void (*task_func)(void *),
    void *arg, ABT_task *newtask)
{
    ABT_pool pool = ABT_POOL_NULL;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newtask);
    rc = ABT_xstream_get_main_pools(xstream, 1, &pool);
    return rc != ABT_SUCCESS ? rc
                             : ABT_task_create(pool, task_func, arg, newtask);
}

int ABT_thread_create_many(int num_threads, ABT_pool *pool_list,
    void (**thread_func_list)(void *), void **arg_list, ABT_thread_attr attr,
    ABT_thread *newthread_list)
{
    const struct amg_thread_attr *uattr = amg_thread_attr_of(attr);

    if (num_threads < 0 ||
        (num_threads > 0 && (pool_list == NULL || thread_func_list == NULL)) ||
        (uattr != NULL && uattr->stack != NULL))
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < num_threads; i++) {
        int rc = ABT_thread_create(pool_list[i], thread_func_list[i],
            arg_list == NULL ? NULL : arg_list[i], attr,
            newthread_list == NULL ? NULL : &newthread_list[i]);

        if (rc != ABT_SUCCESS)
            return rc;
    }
    return ABT_SUCCESS;
}

/* Waits until the thread has ended. */
static void ult_join(struct amg_ult *ult)
{
    struct amg_waiter waiter;

    amg_lock_lock(&ult->lock);
    if (amg_ult_state(ult) == AMG_ULT_ENDED) {
        amg_lock_unlock(&ult->lock);
        return;
    }
    amg_waiter_init(&waiter);
    amg_list_push(&ult->joiners, &waiter.link);
    amg_park(&waiter, &ult->lock);
    /* amg_ult_end() may have switched directly to this joiner: then the joiner
     * has set the state ENDED, within amg_park(), in switch_arrived(). */
    AMG_ASSERT(amg_ult_state(ult) == AMG_ULT_ENDED);
}

/* Resets an ended thread, and moves it to `pool`. Returns an ABT code. */
static int thread_renew(ABT_pool pool, void (*function)(void *), void *arg,
    const ABT_thread *thread)
{
    struct amg_ult *ult = NULL;
    int rc = ABT_SUCCESS;

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == NULL || function == NULL)
        return ABT_ERR_INV_ARG;
    ult = amg_ult_of(*thread);
    if (ult == NULL || amg_ult_state(ult) != AMG_ULT_ENDED)
        return ABT_ERR_INV_THREAD;
    ult_join(ult); /* takes ult->lock, so has_ended() has released the lock */
    rc = amg_ready_pool_adopt(amg_ready_pool_of(pool), ult);
    if (rc == ABT_SUCCESS)
        amg_ult_reset(ult, function, arg);
    return rc;
}

int ABT_thread_revive(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread)
{
    int rc = thread_renew(pool, thread_func, arg, thread);

    if (rc == ABT_SUCCESS)
        amg_ult_make_ready(amg_ult_of(*thread));
    return rc;
}

int ABT_thread_revive_to(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread)
{
    struct amg_ult *self = amg_ult_self();
    int rc = ABT_SUCCESS;

    if (self == NULL)
        return ABT_ERR_INV_THREAD;
    if (thread != NULL && *thread != ABT_THREAD_NULL &&
        amg_ult_of(*thread)->kind != AMG_ULT_THREAD)
        return ABT_ERR_INV_THREAD;
    rc = thread_renew(pool, thread_func, arg, thread);
    if (rc == ABT_SUCCESS)
        amg_ult_switch_to(self, AMG_SWITCH_YIELD, NULL, amg_ult_of(*thread));
    return rc;
}

int ABT_thread_join(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);
    const struct amg_ult *self = amg_ult_current();

    if (ult == NULL || !ult->is_named || ult == self ||
        ult->kind == AMG_ULT_PRIMARY || ult->kind == AMG_ULT_SCHEDULER)
        return ABT_ERR_INV_THREAD;
    if (amg_ult_state(ult) != AMG_ULT_ENDED) {
        /* A tasklet cannot wait: possibly the thread can run only after the
         * tasklet, on the same xstream. */
        if (self != NULL && self->kind == AMG_ULT_TASKLET)
            return ABT_ERR_INV_THREAD;
        /* In a child of fork() no xstream runs a thread of the parent. */
        if (self == NULL && ABT_initialized() != ABT_SUCCESS)
            return ABT_ERR_UNINITIALIZED;
    }
    ult_join(ult);
    return ABT_SUCCESS;
}

int ABT_thread_free(ABT_thread *thread)
{
    int rc = ABT_ERR_INV_THREAD;

    if (thread == NULL)
        return rc;
    rc = ABT_thread_join(*thread);
    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_destroy(amg_ult_of(*thread));
    *thread = ABT_THREAD_NULL;
    return ABT_SUCCESS;
}

static int thread_join(ABT_thread *thread)
{
    return ABT_thread_join(*thread);
}

/* Calls `end` for each thread but ABT_THREAD_NULL; returns the first error. */
static int threads_end(
    int num_threads, ABT_thread *thread_list, int (*end)(ABT_thread *thread))
{
    int rc = ABT_SUCCESS;

    if (thread_list == NULL && num_threads > 0)
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < num_threads; i++) {
        int one = ABT_SUCCESS;

        if (thread_list[i] != ABT_THREAD_NULL)
            one = end(&thread_list[i]);
        if (rc == ABT_SUCCESS)
            rc = one;
    }
    return rc;
}

int ABT_thread_join_many(int num_threads, ABT_thread *thread_list)
{
    return threads_end(num_threads, thread_list, thread_join);
}

int ABT_thread_free_many(int num_threads, ABT_thread *thread_list)
{
    return threads_end(num_threads, thread_list, ABT_thread_free);
}

/* Finds the calling thread. ABT_SUCCESS: the thread can leave its stack. */
static int self_find(struct amg_ult **ret_self)
{
    struct amg_ult *self = amg_ult_current();

    if (self == NULL)
        return amg_ult_none_code();
    if (self->kind != AMG_ULT_THREAD && self->kind != AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    *ret_self = self;
    return ABT_SUCCESS;
}

int ABT_self_yield(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_check_cancel(self);
    amg_ult_yield(self);
    amg_ult_check_cancel(self);
    return ABT_SUCCESS;
}

int ABT_thread_yield(void)
{
    if (ABT_self_yield() != ABT_SUCCESS && amg_ult_current() == NULL)
        sched_yield();
    return ABT_SUCCESS;
}

int ABT_self_suspend(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_switch(self, AMG_SWITCH_PARK, NULL);
    amg_ult_check_cancel(self);
    return ABT_SUCCESS;
}

/* True: `ult` had suspended itself, and only the caller may make it ready. */
static bool suspended_take(struct amg_ult *ult)
{
    /* Acquire: pairs with post_switch_park(), which sets the state later. */
    if ((atomic_fetch_and_explicit(&ult->requests, ~(unsigned)AMG_ULT_TO_RESUME,
             memory_order_acquire) &
            AMG_ULT_TO_RESUME) == 0)
        return false;
    for (unsigned tries = 0; amg_ult_state(ult) != AMG_ULT_BLOCKED; tries++)
        amg_back_off(tries);
    return true;
}

int ABT_thread_resume(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (!suspended_take(ult))
        return ABT_ERR_THREAD;
    amg_ult_make_ready(ult);
    return ABT_SUCCESS;
}

/* Takes a thread, which is to continue in the caller's place, out of its pool,
 * or ends its suspension. False: the thread is not in the state for that. */
typedef bool (*take_fn)(struct amg_ult *ult);

static bool ready_take(struct amg_ult *ult)
{
    return amg_ult_state(ult) == AMG_ULT_READY &&
           amg_ready_pool_remove(amg_ult_pool(ult), ult);
}

/* Takes a ready thread that the program has popped, as in Argobots, or that is
 * still in its pool. */
static bool popped_take(struct amg_ult *ult)
{
    return amg_ult_state(ult) == AMG_ULT_READY &&
           (amg_ult_is_in(ult, NULL) ||
               amg_ready_pool_remove(amg_ult_pool(ult), ult));
}

static bool blocked_take(struct amg_ult *ult)
{
    if (!suspended_take(ult))
        return false;
    amg_ready_pool_uncount_blocked(amg_ult_pool(ult));
    return true;
}

static int switch_over(
    ABT_thread thread, take_fn take, enum amg_switch_action action)
{
    struct amg_ult *to = amg_ult_of(thread);
    struct amg_ult *self = NULL;
    int rc = ABT_SUCCESS;

    if (to == NULL)
        return ABT_ERR_INV_THREAD;
    rc = self_find(&self);
    if (rc != ABT_SUCCESS)
        return rc;
    if (to == self ||
        (to->kind != AMG_ULT_THREAD && to->kind != AMG_ULT_PRIMARY) ||
        !amg_ult_may_run_on(amg_xstream_local_self(), to) ||
        (action == AMG_SWITCH_END && self->kind == AMG_ULT_PRIMARY) ||
        !take(to))
        return ABT_ERR_INV_THREAD;
    if (action == AMG_SWITCH_END)
        amg_ult_end_to(self, to);
    amg_ult_switch_to(self, action, NULL, to);
    amg_ult_check_cancel(self);
    return ABT_SUCCESS;
}

int ABT_thread_yield_to(ABT_thread thread)
{
    return switch_over(thread, ready_take, AMG_SWITCH_YIELD);
}

int ABT_self_yield_to(ABT_thread thread)
{
    return switch_over(thread, popped_take, AMG_SWITCH_YIELD);
}

int ABT_self_resume_yield_to(ABT_thread thread)
{
    return switch_over(thread, blocked_take, AMG_SWITCH_YIELD);
}

int ABT_self_suspend_to(ABT_thread thread)
{
    return switch_over(thread, popped_take, AMG_SWITCH_PARK);
}

int ABT_self_resume_suspend_to(ABT_thread thread)
{
    return switch_over(thread, blocked_take, AMG_SWITCH_PARK);
}

int ABT_self_exit_to(ABT_thread thread)
{
    return switch_over(thread, popped_take, AMG_SWITCH_END);
}

int ABT_self_resume_exit_to(ABT_thread thread)
{
    return switch_over(thread, blocked_take, AMG_SWITCH_END);
}

int ABT_self_exit(void)
{
    struct amg_ult *self = NULL;
    int rc = self_find(&self);

    if (rc != ABT_SUCCESS)
        return rc;
    if (self->kind == AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    amg_ult_end(self);
}

int ABT_thread_exit(void)
{
    return ABT_self_exit();
}

int ABT_thread_cancel(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL || ult->kind == AMG_ULT_PRIMARY ||
        ult->kind == AMG_ULT_SCHEDULER)
        return ABT_ERR_INV_THREAD;
    atomic_fetch_or_explicit(
        &ult->requests, AMG_ULT_TO_CANCEL, memory_order_relaxed);
    return ABT_SUCCESS;
}

/* May the thread migrate? Returns an ABT code. */
static int migration_check(const struct amg_ult *ult)
{
    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (ult->kind == AMG_ULT_PRIMARY || ult->kind == AMG_ULT_SCHEDULER ||
        amg_ult_state(ult) == AMG_ULT_ENDED)
        return ABT_ERR_INV_THREAD;
    return ult->is_migratable ? ABT_SUCCESS : ABT_ERR_MIGRATION_NA;
}

static void migration_ask(struct amg_ult *ult, struct amg_ready_pool *target)
{
    struct amg_ready_pool *pool = NULL;

    /* Release: pairs with the acquire of amg_ult_migrate(). */
    atomic_store_explicit(&ult->migrates_to, target, memory_order_release);
    if (amg_ult_state(ult) != AMG_ULT_READY)
        return; /* `ult` migrates when it is made ready next */
    pool = amg_ult_pool(ult);
    AMG_TEST_POINT("migrate.ask");
    if (!amg_ready_pool_remove(pool, ult))
        return;
    amg_ult_migrate(ult);
    amg_ready_pool_push(
        amg_ult_pool(ult), ult, ABT_POOL_CONTEXT_OP_THREAD_MIGRATE);
}

int ABT_thread_migrate_to_pool(ABT_thread thread, ABT_pool pool)
{
    struct amg_ult *ult = amg_ult_of(thread);
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (amg_ult_pool(ult) == amg_ready_pool_of(pool))
        return ABT_ERR_MIGRATION_TARGET;
    migration_ask(ult, amg_ready_pool_of(pool));
    return ABT_SUCCESS;
}

int ABT_thread_migrate_to_sched(ABT_thread thread, ABT_sched sched)
{
    struct amg_ult *ult = amg_ult_of(thread);
    const struct amg_sched *known = amg_sched_of(sched);
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    if (known == NULL || known->count == 0)
        return ABT_ERR_INV_SCHED;
    if (amg_sched_has(known, amg_ult_pool(ult)))
        return ABT_ERR_MIGRATION_TARGET;
    migration_ask(ult, known->pools[0]);
    return ABT_SUCCESS;
}

int ABT_thread_migrate_to_xstream(ABT_thread thread, ABT_xstream xstream)
{
    int rc = migration_check(amg_ult_of(thread));

    if (rc != ABT_SUCCESS)
        return rc;
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    return ABT_thread_migrate_to_sched(
        thread, amg_sched_handle(amg_xstream_sched(amg_xstream_of(xstream))));
}

/* Search for the first pool of a running xstream that does not run `pool`. */
struct other_search {
    const struct amg_ready_pool *pool;
    struct amg_ready_pool *found;
};

static bool other_visit(struct amg_xstream *xstream, void *arg)
{
    struct other_search *search = arg;
    const struct amg_sched *sched = amg_xstream_sched(xstream);

    if (atomic_load_explicit(&xstream->state, memory_order_relaxed) ==
            ABT_XSTREAM_STATE_RUNNING &&
        sched->count > 0 && !amg_sched_has(sched, search->pool))
        search->found = sched->pools[0];
    return search->found != NULL;
}

int ABT_thread_migrate(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);
    struct other_search search = {.found = NULL};
    int rc = migration_check(ult);

    if (rc != ABT_SUCCESS)
        return rc;
    search.pool = amg_ult_pool(ult);
    if (!amg_xstreams_each(other_visit, &search))
        return ABT_ERR_MIGRATION_NA;
    migration_ask(ult, search.found);
    return ABT_SUCCESS;
}

int ABT_thread_set_callback(ABT_thread thread,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    ult->on_migration = cb_func;
    ult->on_migration_arg = cb_arg;
    return ABT_SUCCESS;
}

int ABT_thread_set_migratable(ABT_thread thread, ABT_bool migratable)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL || ult->kind == AMG_ULT_PRIMARY)
        return ABT_ERR_INV_THREAD;
    ult->is_migratable = migratable != ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_is_migratable(ABT_thread thread, ABT_bool *is_migratable)
{
    return AMG_GET(ABT_ERR_INV_THREAD, thread, is_migratable,
        amg_ult_of(thread)->is_migratable);
}
