/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of ready user-level threads, built-in and user-defined.
 *
 * A sleeper that waits for a push is on the pool's list of watches. Pushing a
 * thread and adding a watch take the pool's lock, and a sleeper checks the pool
 * after adding its watch: so either the sleeper finds the thread, or the push
 * finds the watch. A push into a pool without watches checks nothing else. */
#include "ult/ready_pool.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

/* Number of the next pool. */
static atomic_int next_id;

static void size_change(struct amg_ready_pool *pool, size_t change)
{
    atomic_fetch_add_explicit(&pool->size, change, memory_order_relaxed);
}

/* Changes the size of a built-in pool, as only the holder of its lock may. */
static void size_change_locked(struct amg_ready_pool *pool, size_t change)
{
    size_t size = atomic_load_explicit(&pool->size, memory_order_relaxed);

    AMG_ASSERT_HELD_BIAS(&pool->lock);
    atomic_store_explicit(&pool->size, size + change, memory_order_relaxed);
}

/* Notes that the thread is on a list of the pool (true), or has left it. */
static void note_in_locked(
    struct amg_ready_pool *pool, struct amg_ult *ult, bool is_in)
{
    AMG_ASSERT_HELD_BIAS(&pool->lock);
    atomic_store_explicit(&ult->in, is_in ? pool : NULL, memory_order_relaxed);
}

/* Changes `blocked`. Release: pairs with amg_ready_pool_total(). */
static void blocked_change_locked(struct amg_ready_pool *pool, int change)
{
    size_t blocked = atomic_load_explicit(&pool->blocked, memory_order_relaxed);

    AMG_ASSERT_HELD_BIAS(&pool->lock);
    atomic_store_explicit(
        &pool->blocked, blocked + (size_t)change, memory_order_release);
}

/* Number of ready threads of the pool. `counted`: pushes minus pops. */
static size_t user_size(const struct amg_user_pool *user, size_t counted)
{
    if (user->is_old)
        return user->def.p_get_size == NULL ? counted
                                            : user->def.p_get_size(user->pool);
    if (user->get_size != NULL)
        return user->get_size(user->pool);
    if (user->is_empty(user->pool))
        return 0;
    return counted > 0 ? counted : 1;
}

struct amg_ready_pool *amg_ready_pool_create(
    const struct amg_ready_pool_ops *ops, ABT_pool_access access,
    bool is_automatic)
{
    struct amg_ready_pool *pool = amg_mem_zalloc(sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->ops = ops;
    pool->access = access;
    pool->is_automatic = is_automatic;
    pool->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    amg_bias_init(&pool->lock);
    amg_list_init(&pool->ready);
    amg_list_init(&pool->fresh);
    amg_list_init(&pool->watches);
    return pool;
}

/* Waits for pushes that still access the pool: a pushed thread may have ended
 * before its push returns. */
static void pool_quiesce(const struct amg_ready_pool *pool)
{
    /* Acquire: pairs with user_push() and amg_ready_pool_push_many(). */
    for (unsigned tries = 0;
         atomic_load_explicit(&pool->pushes, memory_order_acquire) != 0;
         tries++) {
        AMG_TEST_POINT("ready_pool.quiesce");
        amg_back_off(tries);
        (void)ABT_thread_yield();
    }
}

/* Frees a pool without scheduler, and its predecessors; drops their threads. */
static void pool_destroy(struct amg_ready_pool *pool)
{
    struct amg_ready_pool *predecessor =
        atomic_load_explicit(&pool->predecessors, memory_order_relaxed);
    struct amg_user_pool *user = pool->user;

    while (predecessor != NULL) {
        struct amg_ready_pool *next = predecessor->next_predecessor;

        amg_list_remove(&predecessor->successor_watch.link);
        pool_destroy(predecessor);
        predecessor = next;
    }
    pool_quiesce(pool);
    AMG_ASSERT(atomic_load_explicit(&pool->users, memory_order_relaxed) == 0);
    AMG_ASSERT(amg_list_is_empty(&pool->watches));
    /* Waits for callers that changed the counts, but still hold the lock. */
    amg_bias_lock(&pool->lock);
    amg_bias_unlock(&pool->lock);
    if (user != NULL && user->is_old && user->def.p_free != NULL)
        user->def.p_free(user->pool);
    else if (user != NULL && !user->is_old && user->free != NULL)
        user->free(user->pool);
    amg_mem_free(user);
    amg_mem_free(pool);
}

void amg_ready_pool_ref(struct amg_ready_pool *pool)
{
    if (atomic_fetch_add_explicit(&pool->users, 1, memory_order_relaxed) != 1)
        return;
    /* Wakes the scheduler that was the only user until now: blocked threads of
     * this pool no longer keep that scheduler from ending. */
    amg_bias_lock(&pool->lock);
    amg_sleeper_wake_all(&pool->watches);
    amg_bias_unlock(&pool->lock);
}

/* State that a pushed thread comes from. */
enum push_from { FROM_OTHER, FROM_YIELD, FROM_BLOCKED };

/* Will the calling xstream run the only ready thread of the pool next, so that
 * no sleeper has to be woken? */
typedef bool (*runs_next_fn)(const struct amg_ready_pool *pool);

/* Claims the first sleeper of the pool's watches that is not awake. */
static void claim_first_locked(
    struct amg_ready_pool *pool, struct amg_claim *ret_claim)
{
    struct amg_link *link = amg_list_first(&pool->watches);

    AMG_ASSERT_HELD_BIAS(&pool->lock);
    for (; link != NULL; link = amg_list_next(&pool->watches, link))
        if (amg_sleeper_claim(
                amg_container_of(link, struct amg_watch, link)->sleeper,
                ret_claim))
            return;
    ret_claim->was = AMG_SLEEPER_AWAKE;
}

/* Moves all ready threads of the pool to its successor, then lowers `blocked`
 * of the successor by 1: the caller has raised that count for the move. */
static void pool_hand_over(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor);

/* Ends a push into a pool with watches, and unlocks. Before the unlock, raises
 * `blocked` of a successor, so that no join ends before the thread moves. */
static AMG_NOINLINE void push_notify_unlock(
    struct amg_ready_pool *pool, runs_next_fn runs_next)
{
    struct amg_claim claim = {.was = AMG_SLEEPER_AWAKE};
    struct amg_ready_pool *successor = pool->successor;

    if (successor != NULL)
        amg_ready_pool_count_blocked(successor, 1);
    else if (runs_next == NULL || !runs_next(pool))
        claim_first_locked(pool, &claim);
    amg_bias_unlock(&pool->lock);
    /* A pool without successor may be freed by now, if the thread has run. */
    if (claim.was != AMG_SLEEPER_AWAKE)
        amg_sleeper_wake(&claim);
    if (successor != NULL)
        pool_hand_over(pool, successor);
}

/* Ends a push, and unlocks the pool. */
static inline void push_unlock(
    struct amg_ready_pool *pool, runs_next_fn runs_next)
{
    if (amg_list_is_empty(&pool->watches))
        amg_bias_unlock(&pool->lock);
    else
        push_notify_unlock(pool, runs_next);
}

/* The context of a push into a user-defined pool, if the caller gives none. */
static ABT_pool_context context_of(
    const struct amg_ult *ult, enum push_from from)
{
    if (from != FROM_OTHER)
        return from == FROM_YIELD ? ABT_POOL_CONTEXT_OP_THREAD_YIELD
                                  : ABT_POOL_CONTEXT_OP_THREAD_RESUME;
    return atomic_load_explicit(&ult->xstream, memory_order_relaxed) == NULL
               ? ABT_POOL_CONTEXT_OP_THREAD_CREATE
               : ABT_POOL_CONTEXT_OP_THREAD_REVIVE;
}

/* Pushes a thread into a user-defined pool. Aborts if the thread gets no unit
 * there: the thread is in no other pool, so it would never run again. */
static AMG_NOINLINE void user_push(struct amg_ready_pool *pool,
    struct amg_ult *ult, enum push_from from, ABT_pool_context context,
    runs_next_fn runs_next)
{
    const struct amg_user_pool *user = pool->user;

    if (amg_ready_pool_adopt(pool, ult) != ABT_SUCCESS) {
        AMG_LOG_ERROR("ult",
            "user-defined pool %d created no unit for a ready thread (its "
            "function failed, or no memory); aborting, since the thread would "
            "be lost",
            pool->id);
        abort();
    }
    atomic_fetch_add_explicit(&pool->pushes, 1, memory_order_relaxed);
    if (user->is_old)
        user->def.p_push(user->pool, amg_unit_of(ult));
    else
        user->push(user->pool, amg_unit_of(ult),
            context != 0 ? context : context_of(ult, from));
    AMG_TEST_POINT("ready_pool.pushed");
    amg_bias_lock(&pool->lock);
    size_change(pool, 1);
    if (from == FROM_BLOCKED)
        blocked_change_locked(pool, -1);
    push_unlock(pool, runs_next);
    /* Release: pairs with pool_quiesce(). */
    atomic_fetch_sub_explicit(&pool->pushes, 1, memory_order_release);
}

void amg_ready_pool_push_many(struct amg_ready_pool *pool,
    const ABT_unit *units, size_t count, ABT_pool_context context)
{
    atomic_fetch_add_explicit(&pool->pushes, 1, memory_order_relaxed);
    pool->user->push_many(pool->user->pool, units, count, context);
    amg_bias_lock(&pool->lock);
    size_change(pool, count);
    push_unlock(pool, NULL);
    for (size_t i = 1; i < count; i++)
        amg_ready_pool_wake_one(pool);
    /* Release: pairs with pool_quiesce(). */
    atomic_fetch_sub_explicit(&pool->pushes, 1, memory_order_release);
}

static void pool_push(struct amg_ready_pool *pool, struct amg_ult *ult,
    enum push_from from, ABT_pool_context context, runs_next_fn runs_next)
{
    if (pool->ops == NULL) {
        user_push(pool, ult, from, context, runs_next);
        return;
    }
    if (ult->unit != NULL)
        amg_ready_pool_disown(ult);
    amg_bias_lock(&pool->lock);
    pool->ops->push(pool, ult);
    note_in_locked(pool, ult, true);
    size_change_locked(pool, 1);
    if (from == FROM_BLOCKED)
        blocked_change_locked(pool, -1);
    push_unlock(pool, runs_next);
}

void amg_ready_pool_push(
    struct amg_ready_pool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    pool_push(pool, ult, FROM_OTHER, context, NULL);
}

static struct amg_ult *user_pop(
    struct amg_ready_pool *pool, ABT_pool_context context)
{
    const struct amg_user_pool *user = pool->user;
    struct amg_ult *ult = user->is_old
                              ? amg_unit_ult(user->def.p_pop(user->pool))
                              : amg_ult_of(user->pop(user->pool, context));

    if (ult != NULL)
        size_change(pool, (size_t)-1);
    return ult;
}

typedef struct amg_ult *(*take_fn)(struct amg_ready_pool *pool);

/* Pops a thread by `take`, the function `pop` or `steal` of the pool's kind. */
static struct amg_ult *take_locked(struct amg_ready_pool *pool, take_fn take)
{
    struct amg_ult *ult = take(pool);

    AMG_ASSERT_HELD_BIAS(&pool->lock);
    if (ult != NULL) {
        note_in_locked(pool, ult, false);
        size_change_locked(pool, (size_t)-1);
    }
    return ult;
}

static struct amg_ult *pool_take(struct amg_ready_pool *pool, take_fn take)
{
    struct amg_ult *ult = NULL;

    if (!amg_ready_pool_has_any(pool))
        return NULL;
    amg_bias_lock(&pool->lock);
    ult = take_locked(pool, take);
    amg_bias_unlock(&pool->lock);
    return ult;
}

struct amg_ult *amg_ready_pool_pop(struct amg_ready_pool *pool)
{
    if (pool->ops == NULL)
        return user_pop(pool, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return pool_take(pool, pool->ops->pop);
}

struct amg_ult *amg_ready_pool_pop_for(
    struct amg_ready_pool *pool, ABT_pool_context context)
{
    return pool->ops == NULL ? user_pop(pool, context)
                             : amg_ready_pool_pop(pool);
}

bool amg_ready_pool_pop_wait(struct amg_ready_pool *pool, double secs,
    ABT_pool_context context, struct amg_ult **ret_ult)
{
    const struct amg_user_pool *user = pool->user;

    if (user != NULL && !user->is_old && user->pop_wait != NULL)
        *ret_ult = amg_ult_of(user->pop_wait(user->pool, secs, context));
    else if (user != NULL && user->is_old && user->def.p_pop_wait != NULL)
        *ret_ult = amg_unit_ult(user->def.p_pop_wait(user->pool, secs));
    else
        return false;
    if (*ret_ult != NULL)
        size_change(pool, (size_t)-1);
    return true;
}

struct amg_ult *amg_ready_pool_pop_for_blocked(struct amg_ready_pool *pool)
{
    struct amg_ult *ult = NULL;

    amg_bias_lock(&pool->lock);
    blocked_change_locked(pool, 1);
    ult = take_locked(pool, pool->ops->pop);
    amg_bias_unlock(&pool->lock);
    return ult;
}

struct amg_ult *amg_ready_pool_turn(
    struct amg_ready_pool *pool, struct amg_ult *self)
{
    struct amg_ult *next = NULL;

    AMG_ASSERT(pool->successor == NULL);
    if (self->unit != NULL)
        amg_ready_pool_disown(self);
    amg_bias_lock(&pool->lock);
    if (amg_list_is_empty(&pool->watches))
        next = pool->ops->pop(pool);
    if (next == NULL) {
        amg_bias_unlock(&pool->lock);
        return NULL;
    }
    note_in_locked(pool, next, false);
    pool->ops->push(pool, self);
    note_in_locked(pool, self, true);
    amg_ult_set_state(self, AMG_ULT_READY);
    return next;
}

static void pool_hand_over(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor)
{
    struct amg_ult *ult = NULL;

    while ((ult = amg_ready_pool_pop(pool)) != NULL) {
        amg_ult_set_pool(ult, successor);
        amg_ready_pool_push(successor, ult, ABT_POOL_CONTEXT_OP_THREAD_MIGRATE);
    }
    amg_ready_pool_uncount_blocked(successor);
}

/* Gives a successor to a pool that has threads but no scheduler any more. */
static void pool_succeed(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor)
{
    static struct amg_sleeper nobody; /* always AWAKE, so never claimed */

    AMG_ASSERT(pool != successor && pool->successor == NULL);
    pool->successor_watch.sleeper = &nobody;
    amg_bias_lock(&successor->lock);
    pool->next_predecessor =
        atomic_load_explicit(&successor->predecessors, memory_order_relaxed);
    /* Release: pairs with amg_ready_pool_total(). */
    atomic_store_explicit(&successor->predecessors, pool, memory_order_release);
    amg_bias_unlock(&successor->lock);
    amg_ready_pool_count_blocked(successor, 1);
    amg_bias_lock(&pool->lock);
    pool->successor = successor;
    amg_list_push(&pool->watches, &pool->successor_watch.link);
    amg_bias_unlock(&pool->lock);
    pool_hand_over(pool, successor);
}

unsigned amg_ready_pool_deref(struct amg_ready_pool *pool)
{
    unsigned users =
        atomic_fetch_sub_explicit(&pool->users, 1, memory_order_acq_rel);

    AMG_ASSERT(users > 0);
    return users - 1;
}

void amg_ready_pool_unref(
    struct amg_ready_pool *pool, struct amg_ready_pool *successor)
{
    if (amg_ready_pool_deref(pool) > 0 || !pool->is_automatic)
        return;
    if (successor != NULL && amg_ready_pool_total(pool) > 0)
        pool_succeed(pool, successor);
    else
        pool_destroy(pool);
}

struct amg_ult *amg_ready_pool_steal(struct amg_ready_pool *pool)
{
    if (pool->ops == NULL)
        return user_pop(pool, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return pool_take(pool, pool->ops->steal);
}

/* False: the program's p_remove failed, or the definition has no p_remove. */
static AMG_NOINLINE bool user_remove(
    struct amg_ready_pool *pool, struct amg_ult *ult)
{
    const struct amg_user_pool *user = pool->user;

    if (!user->is_old || user->def.p_remove == NULL ||
        user->def.p_remove(user->pool, amg_unit_of(ult)) != ABT_SUCCESS)
        return false;
    size_change(pool, (size_t)-1);
    return true;
}

bool amg_ready_pool_remove(struct amg_ready_pool *pool, struct amg_ult *ult)
{
    bool is_there = false;

    if (pool->ops == NULL)
        return user_remove(pool, ult);
    amg_bias_lock(&pool->lock);
    AMG_TEST_POINT("ready_pool.remove");
    is_there = amg_ult_is_in(ult, pool);
    if (is_there) {
        note_in_locked(pool, ult, false);
        amg_list_remove(&ult->link);
        size_change_locked(pool, (size_t)-1);
    }
    amg_bias_unlock(&pool->lock);
    return is_there;
}

size_t amg_ready_pool_size(const struct amg_ready_pool *pool)
{
    size_t size = atomic_load_explicit(&pool->size, memory_order_relaxed);

    return pool->ops == NULL ? user_size(pool->user, size) : size;
}

size_t amg_ready_pool_total(const struct amg_ready_pool *pool)
{
    /* Threads move from predecessors to this pool, and from blocked to ready.
     * Reads the counts in that order, so that no moving thread is missed.
     * Acquire: pairs with pool_succeed() and blocked_change_locked(). */
    const struct amg_ready_pool *predecessor =
        atomic_load_explicit(&pool->predecessors, memory_order_acquire);
    size_t total = 0;

    for (; predecessor != NULL; predecessor = predecessor->next_predecessor)
        total += amg_ready_pool_total(predecessor);
    total += atomic_load_explicit(&pool->blocked, memory_order_acquire);
    return total + amg_ready_pool_size(pool);
}

void amg_ready_pool_count_blocked(struct amg_ready_pool *pool, int change)
{
    amg_bias_lock(&pool->lock);
    blocked_change_locked(pool, change);
    amg_bias_unlock(&pool->lock);
}

/* Wakes the sleepers of the pool, then of its successor; both are locked. */
static void wake_all_locked(struct amg_ready_pool *pool)
{
    AMG_ASSERT_HELD_BIAS(&pool->lock);
    amg_sleeper_wake_all(&pool->watches);
    if (pool->successor != NULL) {
        amg_bias_lock(&pool->successor->lock);
        wake_all_locked(pool->successor);
        amg_bias_unlock(&pool->successor->lock);
    }
}

void amg_ready_pool_uncount_blocked(struct amg_ready_pool *pool)
{
    amg_bias_lock(&pool->lock);
    blocked_change_locked(pool, -1);
    if (atomic_load_explicit(&pool->blocked, memory_order_relaxed) == 0)
        wake_all_locked(pool);
    amg_bias_unlock(&pool->lock);
}

bool amg_ready_pool_watch(struct amg_ready_pool *pool, struct amg_watch *watch)
{
    amg_bias_lock(&pool->lock);
    amg_list_push(&pool->watches, &watch->link);
    amg_bias_unlock(&pool->lock);
    return amg_ready_pool_size(pool) == 0;
}

void amg_ready_pool_unwatch(
    struct amg_ready_pool *pool, struct amg_watch *watch)
{
    amg_bias_lock(&pool->lock);
    if (amg_link_is_listed(&watch->link))
        amg_list_remove(&watch->link);
    amg_bias_unlock(&pool->lock);
}

void amg_ready_pool_wake_one(struct amg_ready_pool *pool)
{
    struct amg_claim claim = {.was = AMG_SLEEPER_AWAKE};

    if (amg_ready_pool_size(pool) == 0)
        return;
    amg_bias_lock(&pool->lock);
    claim_first_locked(pool, &claim);
    amg_bias_unlock(&pool->lock);
    if (claim.was != AMG_SLEEPER_AWAKE)
        amg_sleeper_wake(&claim);
}

void amg_ult_migrate(struct amg_ult *ult)
{
    struct amg_ready_pool *target = NULL;

    if (atomic_load_explicit(&ult->migrates_to, memory_order_relaxed) == NULL)
        return;
    /* Acquire: pairs with the release of migration_ask() (thread_calls.c). */
    target =
        atomic_exchange_explicit(&ult->migrates_to, NULL, memory_order_acquire);
    if (target == NULL)
        return;
    amg_ult_set_pool(ult, target);
    if (ult->on_migration != NULL)
        ult->on_migration(amg_ult_handle(ult), ult->on_migration_arg);
}

void amg_ult_make_ready(struct amg_ult *ult)
{
    bool was_blocked = amg_ult_state(ult) == AMG_ULT_BLOCKED;
    struct amg_ready_pool *from = amg_ult_pool(ult);

    amg_ult_migrate(ult);
    /* The new pool counts the thread before the former pool uncounts the
     * thread: else an xstream that is being joined might end too early. */
    if (was_blocked && amg_ult_pool(ult) != from) {
        amg_ready_pool_count_blocked(amg_ult_pool(ult), 1);
        amg_ready_pool_uncount_blocked(from);
    }
    amg_ult_set_state(ult, AMG_ULT_READY);
    /* Once pushed, the thread may run on another xstream, and end. */
    pool_push(amg_ult_pool(ult), ult, was_blocked ? FROM_BLOCKED : FROM_OTHER,
        0, NULL);
}

void amg_ult_yielded(struct amg_ult *ult, runs_next_fn runs_next)
{
    amg_ult_migrate(ult);
    amg_ult_set_state(ult, AMG_ULT_READY);
    pool_push(amg_ult_pool(ult), ult, FROM_YIELD, 0, runs_next);
}

int ABT_pool_free(ABT_pool *pool)
{
    struct amg_ready_pool *known =
        pool == NULL ? NULL : amg_ready_pool_of(*pool);

    if (known == NULL)
        return ABT_ERR_INV_POOL;
    pool_quiesce(known);
    if (atomic_load_explicit(&known->users, memory_order_acquire) != 0 ||
        amg_ready_pool_total(known) != 0) {
        AMG_LOG_ERROR("ult",
            "ABT_pool_free: pool %d is used by %u schedulers and has %zu "
            "threads; free these first",
            known->id, atomic_load(&known->users), amg_ready_pool_total(known));
        return ABT_ERR_POOL;
    }
    pool_destroy(known);
    *pool = ABT_POOL_NULL;
    return ABT_SUCCESS;
}
