/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads: creation, switches between them, and their end.
 *
 * The struct of a thread on a stack of the library lies at the upper end of
 * that stack, in a page that the stack uses anyway.
 *
 * No xstream may run a thread before the thread has left its stack. So the next
 * thread on the xstream calls post_switch(), which makes the previous thread
 * (amg_xstream_local.left) ready, blocked or ended, or unlocks its pool. */
#include "ult/switch_to.h"

#include <sched.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "ult/sched.h"
#include "ult/switch.h"
#include "ult/waiters.h"

/* More bytes than struct amg_ult and the offset `color` of stack.c take. */
enum { OWN_LEN = 4096 };

void amg_ult_destroy(struct amg_ult *ult)
{
    struct amg_stack *stack = ult->stack;
    struct amg_xstream_local *local = NULL;

    amg_key_table_clear(&ult->keys);
    if (ult->unit != NULL)
        amg_ready_pool_disown(ult);
    amg_fibre_clean(&ult->fibre, ult->sp);
    if (stack != NULL) {
        /* Not earlier: a destructor may move the caller to another xstream. */
        local = amg_xstream_local_self();
        amg_stack_free(local == NULL ? NULL : &local->stacks, stack);
        return;
    }
    if (ult->stack_base != NULL)
        amg_fibre_close(&ult->fibre);
    amg_mem_free(ult);
}

/* Wakes the thread's joiners; frees an unnamed thread. The caller must not
 * access the thread afterwards. */
static void has_ended(struct amg_ult *ult)
{
    struct amg_list joiners;
    struct amg_link *link = NULL;

    if (!ult->is_named) {
        amg_ult_set_state(ult, AMG_ULT_ENDED);
        amg_ult_destroy(ult);
        return;
    }
    amg_list_init(&joiners);
    amg_lock_lock(&ult->lock);
    amg_list_splice(&joiners, &ult->joiners);
    amg_ult_set_state(ult, AMG_ULT_ENDED);
    amg_lock_unlock(&ult->lock); /* from here on a joiner may free `ult` */
    while ((link = amg_list_pop(&joiners)) != NULL)
        amg_unpark(amg_container_of(link, struct amg_waiter, link));
}

/* Will the calling xstream, on which the only ready thread of the pool has just
 * left its stack, run that thread next? Yes if a built-in scheduler runs now,
 * and has no other thread to run. A scheduler that returns instead wakes other
 * xstreams for the thread: sched_run() in sched_run.c. */
static bool xstream_runs_next(const struct amg_ready_pool *pool)
{
    const struct amg_xstream_local *local = amg_xstream_local_self();

    return local != NULL && local->handed == NULL &&
           local->current->kind == AMG_ULT_SCHEDULER &&
           amg_xstream_runs_next(local->xstream, pool);
}

static void post_switch_park(struct amg_ult *left)
{
    struct amg_lock *held = left->held;
    struct amg_bias *biased = left->biased;

    left->held = NULL;
    left->biased = NULL;
    /* Pairs with suspended_take() (thread_calls.c), which may succeed from here
     * on, and which waits for the state BLOCKED below. */
    if (biased == NULL && held == NULL)
        atomic_fetch_or_explicit(
            &left->requests, AMG_ULT_TO_RESUME, memory_order_release);
    AMG_TEST_POINT("switch_to.suspended");
    amg_ult_set_state(left, AMG_ULT_BLOCKED);
    /* Once unlocked, `left` may run on another xstream, and be freed. */
    if (biased != NULL)
        amg_bias_unlock(biased);
    else if (held != NULL)
        amg_lock_unlock(held);
}

/* Once the pool is unlocked, another xstream may run the thread. */
static void post_switch_turn(struct amg_ult *left)
{
    struct amg_bias *biased = left->biased;

    left->biased = NULL;
    amg_bias_unlock(biased);
}

static void post_switch(struct amg_ult *left)
{
    switch (left->switch_action) {
    case AMG_SWITCH_NONE:
        break;
    case AMG_SWITCH_YIELD:
        amg_ult_yielded(left, xstream_runs_next);
        break;
    case AMG_SWITCH_TURN:
        post_switch_turn(left);
        break;
    case AMG_SWITCH_PARK:
        post_switch_park(left);
        break;
    case AMG_SWITCH_END:
        has_ended(left);
        break;
    }
}

AMG_NOINLINE static void switch_trace(
    const struct amg_ult *to, const struct amg_ult *from)
{
    amg_trace_add(AMG_TRACE_ULT, (uintptr_t)to, (uintptr_t)from,
        to->kind == AMG_ULT_SCHEDULER);
}

/* Not inlined: after the switch the caller may be on another OS thread, so no
 * address of thread-local memory from before the switch may be used. */
AMG_NOINLINE static void switch_arrived(void)
{
    struct amg_xstream_local *local = amg_xstream_local_self();
    struct amg_ult *left = local->left;

    if (amg_trace_has(AMALGAM_TRACE_THREADS))
        switch_trace(local->current, left);
    amg_fibre_arrive(&local->current->fibre, &left->fibre);
    post_switch(left);
}

static void stack_switch(
    struct amg_xstream_local *local, struct amg_ult *from, struct amg_ult *to)
{
    local->current = to;
    local->left = from;
    if (local->caught != NULL) {
        from->caught = *local->caught;
        *local->caught = to->caught;
    }
    amg_fibre_leave(
        &from->fibre, &to->fibre, from->switch_action == AMG_SWITCH_END);
    amg_switch(&from->sp, to->sp);
    switch_arrived();
}

/* Makes `to` RUNNING under the scheduler of `self`. */
static void run_state_set(struct amg_xstream_local *local,
    const struct amg_ult *self, struct amg_ult *to)
{
    to->scheduler = self->scheduler;
    atomic_store_explicit(&to->xstream, local->xstream, memory_order_relaxed);
    amg_ult_set_state(to, AMG_ULT_RUNNING);
}

/* May the thread switch to another thread directly? No if a scheduler in a pool
 * (ABT_pool_add_sched()) runs the thread: that scheduler chooses the next. */
static bool may_switch_directly(const struct amg_ult *self)
{
    return self->scheduler->kind == AMG_ULT_SCHEDULER;
}

/* The built-in pool of `self`, if it is the only pool of the built-in scheduler
 * that runs `self`, and no request or migration is pending; else NULL. */
static struct amg_ready_pool *only_pool(
    const struct amg_xstream_local *local, const struct amg_ult *self)
{
    const struct amg_sched *sched = amg_xstream_sched(local->xstream);
    struct amg_ready_pool *pool = amg_ult_pool(self);

    return sched->only == pool && may_switch_directly(self) &&
                   amg_xstream_asked(local->xstream) == 0 &&
                   atomic_load_explicit(&sched->asked, memory_order_relaxed) ==
                       0 &&
                   atomic_load_explicit(
                       &self->migrates_to, memory_order_relaxed) == NULL
               ? pool
               : NULL;
}

/* Pops the next thread when `self` leaves its stack. If `self` blocks, counts
 * `self` as blocked here already: no unpark comes before `self` has left. */
static struct amg_ult *next_pop(const struct amg_xstream_local *local,
    const struct amg_ult *self, enum amg_switch_action action)
{
    struct amg_ready_pool *pool = only_pool(local, self);

    if (pool != NULL)
        return action == AMG_SWITCH_PARK ? amg_ready_pool_pop_for_blocked(pool)
                                         : amg_ready_pool_pop(pool);
    if (action == AMG_SWITCH_PARK)
        amg_ready_pool_count_blocked(amg_ult_pool(self), 1);
    return may_switch_directly(self) ? amg_xstream_next(local->xstream) : NULL;
}

/* Leaves the stack for `next`, which was popped, or for the scheduler. */
static void next_switch(
    struct amg_xstream_local *local, struct amg_ult *self, struct amg_ult *next)
{
    if (next != NULL && next->kind != AMG_ULT_TASKLET &&
        amg_ult_may_run_on(local, next)) {
        run_state_set(local, self, next);
    } else {
        /* Leaves `next`, a tasklet or main(), to the scheduler; may be NULL. */
        local->handed = next;
        next = self->scheduler;
    }
    stack_switch(local, self, next);
}

void amg_ult_switch(
    struct amg_ult *self, enum amg_switch_action action, struct amg_lock *held)
{
    struct amg_xstream_local *local = amg_xstream_local_self();

    AMG_ASSERT(local->current == self);
    self->switch_action = action;
    self->held = held;
    next_switch(local, self, next_pop(local, self, action));
}

void amg_ult_yield(struct amg_ult *self)
{
    struct amg_xstream_local *local = amg_xstream_local_self();
    struct amg_ready_pool *pool = only_pool(local, self);
    struct amg_ult *next = NULL;

    AMG_ASSERT(local->current == self);
    if (pool != NULL) {
        if (!amg_ready_pool_has_any(pool))
            return;
        next = amg_ready_pool_turn(pool, self);
    }
    if (next == NULL) {
        amg_ult_switch(self, AMG_SWITCH_YIELD, NULL);
        return;
    }
    self->switch_action = AMG_SWITCH_TURN;
    self->biased = &pool->lock;
    next_switch(local, self, next);
}

void amg_ult_switch_to(struct amg_ult *self, enum amg_switch_action action,
    struct amg_lock *held, struct amg_ult *to)
{
    struct amg_xstream_local *local = amg_xstream_local_self();

    AMG_ASSERT(local->current == self && to != self);
    if (action == AMG_SWITCH_PARK)
        amg_ready_pool_count_blocked(amg_ult_pool(self), 1);
    self->switch_action = action;
    self->held = held;
    run_state_set(local, self, to);
    stack_switch(local, self, to);
}

/* Runs a tasklet on the stack of the scheduler. */
static void tasklet_run(
    struct amg_xstream_local *local, struct amg_ult *tasklet)
{
    struct amg_ult *caller = local->current;

    atomic_store_explicit(
        &tasklet->xstream, local->xstream, memory_order_relaxed);
    amg_ult_set_state(tasklet, AMG_ULT_RUNNING);
    tasklet->scheduler = caller;
    local->current = tasklet;
    if ((atomic_load_explicit(&tasklet->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) == 0)
        tasklet->function(tasklet->arg);
    local->current = caller;
    has_ended(tasklet);
}

/* Number of yields, 20 us in all: an idle core wakes a thread in that time. */
enum { PRIMARY_YIELDS = 64 };

/* Returns main(), which this xstream has popped, to main()'s own xstream, and
 * waits a moment until main() is taken: on an oversubscribed node, threads that
 * were pushed after main() would otherwise run before main(). */
static void primary_return(struct amg_ult *primary)
{
    struct amg_xstream_local *home =
        amg_container_of(primary, struct amg_xstream_local, own);

    /* Release: pairs with the exchange of amg_ult_primary_take(). */
    atomic_store_explicit(&home->is_own_ready, true, memory_order_release);
    amg_xstream_ask(home->xstream, AMG_XSTREAM_TO_LOOK);
    for (unsigned i = 0;
         i < PRIMARY_YIELDS &&
         atomic_load_explicit(&home->is_own_ready, memory_order_relaxed);
         i++)
        (void)sched_yield();
}

static void run_one(struct amg_xstream_local *local, struct amg_ult *ult)
{
    struct amg_ult *caller = local->current;

    if (ult->kind == AMG_ULT_TASKLET) {
        tasklet_run(local, ult);
        return;
    }
    if (!amg_ult_may_run_on(local, ult)) {
        primary_return(ult);
        return;
    }
    ult->scheduler = caller;
    atomic_store_explicit(&ult->xstream, local->xstream, memory_order_relaxed);
    amg_ult_set_state(ult, AMG_ULT_RUNNING);
    caller->switch_action = AMG_SWITCH_NONE;
    stack_switch(local, caller, ult);
}

void amg_ult_run(struct amg_xstream *xstream, struct amg_ult *ult)
{
    /* Stays valid: no switch moves a scheduler to another OS thread. */
    struct amg_xstream_local *local = amg_xstream_local_self();

    AMG_ASSERT(local != NULL && local->xstream == xstream);
    if (ult == NULL) {
        ult = local->handed;
        local->handed = NULL;
    }
    while (ult != NULL) {
        run_one(local, ult);
        ult = local->handed;
        local->handed = NULL;
    }
}

struct amg_ult *amg_ult_primary_take(void)
{
    struct amg_xstream_local *local = amg_xstream_local_self();

    if (local->own.kind != AMG_ULT_PRIMARY ||
        !atomic_load_explicit(&local->is_own_ready, memory_order_relaxed) ||
        !atomic_exchange_explicit(
            &local->is_own_ready, false, memory_order_acquire))
        return NULL;
    return &local->own;
}

/* The only joiner of `self`, if this xstream may switch to the joiner directly
 * instead of by a push into a pool. NULL: no joiner, several joiners, or a
 * joiner that is an OS thread or has to run on another xstream. */
static struct amg_ult *joiner_take(
    const struct amg_xstream_local *local, struct amg_ult *self)
{
    struct amg_link *link = NULL;
    struct amg_ult *joiner = NULL;

    if (!self->is_named || !may_switch_directly(self))
        return NULL;
    amg_lock_lock(&self->lock);
    link = amg_list_first(&self->joiners);
    if (link != NULL && amg_list_next(&self->joiners, link) == NULL)
        joiner = amg_container_of(link, struct amg_waiter, link)->ult;
    if (joiner != NULL &&
        (atomic_load_explicit(&joiner->xstream, memory_order_relaxed) !=
                local->xstream ||
            !amg_ult_may_run_on(local, joiner) ||
            !amg_sched_has(atomic_load_explicit(
                               &local->xstream->sched, memory_order_relaxed),
                amg_ult_pool(joiner)) ||
            atomic_load_explicit(&joiner->migrates_to, memory_order_relaxed) !=
                NULL))
        joiner = NULL;
    if (joiner != NULL)
        amg_list_init(&self->joiners); /* only `joiner` was listed */
    amg_lock_unlock(&self->lock);
    return joiner;
}

_Noreturn void amg_ult_end_to(struct amg_ult *self, struct amg_ult *to)
{
    if (!self->is_named)
        amg_key_table_clear(&self->keys);
    amg_ult_switch_to(self, AMG_SWITCH_END, NULL, to);
    AMG_ASSERT(!"a thread that has ended was run");
    __builtin_unreachable();
}

_Noreturn void amg_ult_end(struct amg_ult *self)
{
    struct amg_ult *joiner = NULL;

    if (!self->is_named)
        amg_key_table_clear(&self->keys);
    joiner = joiner_take(amg_xstream_local_self(), self);
    if (joiner != NULL) {
        amg_ready_pool_count_blocked(amg_ult_pool(joiner), -1);
        amg_ult_end_to(self, joiner);
    }
    amg_ult_switch(self, AMG_SWITCH_END, NULL);
    AMG_ASSERT(!"a thread that has ended was run");
    __builtin_unreachable();
}

/* The first function on a thread's stack. */
static void ult_entry(void *arg)
{
    struct amg_ult *self = arg;

    switch_arrived();
    if ((atomic_load_explicit(&self->requests, memory_order_relaxed) &
            AMG_ULT_TO_CANCEL) == 0)
        self->function(self->arg);
    amg_ult_end(self);
}

/* Prepares the stack for the first switch to the thread. */
static void stack_prepare(struct amg_ult *ult)
{
    ult->sp =
        amg_switch_prepare(ult->stack_base, ult->stack_room, ult_entry, ult);
}

/* Places a thread at the upper end of a new stack of the library. */
static struct amg_ult *ult_place(struct amg_stack *stack)
{
    struct amg_ult *ult = amg_stack_top(stack, sizeof(*ult));

    amg_ult_init(ult, AMG_ULT_THREAD);
    ult->stack = stack;
    ult->stack_base = stack->base;
    ult->stack_room = (size_t)((char *)ult - (char *)stack->base);
    stack->ult = ult;
    return ult;
}

/* Resets the struct of a freed thread for a new thread on the same stack. A
 * freed thread is in no list and no pool, and has no unit and no keys. */
static void ult_renew(struct amg_ult *ult)
{
    AMG_ASSERT(ult->unit == NULL && amg_ult_is_in(ult, NULL));
    AMG_ASSERT(amg_list_is_empty(&ult->joiners));
    atomic_store_explicit(&ult->xstream, NULL, memory_order_relaxed);
    atomic_store_explicit(&ult->state, AMG_ULT_NEW, memory_order_relaxed);
    ult->caught = (struct amg_caught){.exceptions = NULL};
    atomic_store_explicit(&ult->requests, 0, memory_order_relaxed);
    atomic_store_explicit(&ult->migrates_to, NULL, memory_order_relaxed);
    atomic_store_explicit(&ult->id, 0, memory_order_relaxed);
}

/* Creates a thread at the upper end of a stack of the library. */
static struct amg_ult *create_on_ours(
    enum amg_ult_kind kind, const struct amg_thread_attr *attr)
{
    size_t usual_len = amg_stack_default_len();
    size_t len = usual_len;
    struct amg_xstream_local *local = amg_xstream_local_self();
    struct amg_stack *stack = NULL;
    struct amg_ult *ult = NULL;

    if (attr->stack_len > SIZE_MAX / 2)
        return NULL;
    if (attr->stack_len != 0 && attr->stack_len != len)
        len = attr->stack_len + OWN_LEN;
    stack = amg_stack_alloc(local == NULL ? NULL : &local->stacks, len);
    if (stack == NULL)
        return NULL;
    ult = stack->ult;
    if (ult == NULL)
        ult = ult_place(stack);
    else
        ult_renew(ult);
    ult->kind = kind;
    amg_fibre_reuse(&stack->fibre);
    ult->fibre = stack->fibre;
    ult->stack_len = attr->stack_len != 0 ? attr->stack_len : usual_len;
    return ult;
}

/* Creates a thread without a stack, or on a stack of the program. */
static struct amg_ult *create_beside(
    enum amg_ult_kind kind, const struct amg_thread_attr *attr)
{
    struct amg_ult *ult = amg_mem_alloc(sizeof(*ult));

    if (ult == NULL) {
        AMG_LOG_ERROR("ult", "no memory for a user-level thread");
        return NULL;
    }
    amg_ult_init(ult, kind);
    ult->stack_base = attr->stack;
    ult->stack_room = attr->stack_len;
    if (attr->stack != NULL)
        amg_fibre_open(&ult->fibre, attr->stack, attr->stack_len);
    ult->stack_len = attr->stack_len;
    return ult;
}

struct amg_ult *amg_ult_create(const struct amg_ult_spec *spec)
{
    static const struct amg_thread_attr usual = {.is_migratable = true};
    const struct amg_thread_attr *attr =
        spec->attr != NULL ? spec->attr : &usual;
    bool has_stack = spec->kind != AMG_ULT_TASKLET;
    struct amg_ult *ult = has_stack && attr->stack == NULL
                              ? create_on_ours(spec->kind, attr)
                              : create_beside(spec->kind, attr);

    if (ult == NULL)
        return NULL;
    ult->function = spec->function;
    ult->arg = spec->arg;
    ult->is_named = spec->is_named;
    ult->is_migratable = attr->is_migratable;
    ult->on_migration = attr->on_migration;
    ult->on_migration_arg = attr->on_migration_arg;
    if (has_stack)
        stack_prepare(ult);
    if (spec->pool != NULL && spec->pool->user == NULL) {
        amg_ult_set_pool(ult, spec->pool);
    } else if (spec->pool != NULL &&
               amg_ready_pool_adopt(spec->pool, ult) != ABT_SUCCESS) {
        amg_ult_destroy(ult);
        return NULL;
    }
    return ult;
}

void amg_ult_reset(struct amg_ult *ult, void (*function)(void *arg), void *arg)
{
    AMG_ASSERT(amg_ult_state(ult) == AMG_ULT_ENDED);
    ult->function = function;
    ult->arg = arg;
    ult->caught = (struct amg_caught){.exceptions = NULL};
    atomic_store_explicit(&ult->requests, 0, memory_order_relaxed);
    atomic_store_explicit(&ult->migrates_to, NULL, memory_order_relaxed);
    if (ult->kind != AMG_ULT_TASKLET) {
        amg_fibre_clean(&ult->fibre, ult->sp);
        stack_prepare(ult);
    }
}
