/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of user-level threads that are ready.
 *
 * Who sleeps until something is pushed is on the pool's list of watches. Both
 * the push and the watch take the pool's lock, and the watcher looks into the
 * pool after it has put itself on the list; so either it finds what was pushed,
 * or the push finds it. A push that finds nobody costs nothing more. */
#include "ult/upool.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/test_point.h"
#include "ult/handle.h"
#include "ult/host.h"
#include "ult/sched.h"
#include "ult/stream.h"
#include "ult/ult.h"
#include "ult/unit.h"
#include "ult/upool_user.h"

/* Says where pools came from, by number. */
static atomic_int next_id;

static void size_change(struct amg_upool *pool, size_t change)
{
    atomic_fetch_add_explicit(&pool->size, change, memory_order_relaxed);
}

/* Under the lock nobody else changes it. */
static void size_change_locked(struct amg_upool *pool, size_t change)
{
    size_t size = atomic_load_explicit(&pool->size, memory_order_relaxed);

    atomic_store_explicit(&pool->size, size + change, memory_order_relaxed);
}

/* It is on a list of the pool, or on none. */
static void ult_is_in_locked(struct amg_ult *ult, struct amg_upool *pool)
{
    atomic_store_explicit(&ult->in, pool, memory_order_relaxed);
}

/* As size. Release: pairs with amg_upool_total(). */
static void blocked_change_locked(struct amg_upool *pool, int change)
{
    size_t blocked = atomic_load_explicit(&pool->blocked, memory_order_relaxed);

    atomic_store_explicit(
        &pool->blocked, blocked + (size_t)change, memory_order_release);
}

struct amg_upool *amg_upool_create(
    const struct amg_upool_ops *ops, ABT_pool_access access, bool is_automatic)
{
    struct amg_upool *pool = amg_mem_zalloc(sizeof(*pool));

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

void amg_upool_destroy(struct amg_upool *pool)
{
    AMG_ASSERT(amg_list_is_empty(&pool->watches));
    /* Who took a blocked thread out of the count is through with the pool. */
    amg_bias_take(&pool->lock);
    amg_bias_give(&pool->lock);
    if (pool->user != NULL)
        amg_upool_user_close(pool);
    amg_mem_free(pool);
}

void amg_upool_hold(struct amg_upool *pool)
{
    atomic_fetch_add_explicit(&pool->users, 1, memory_order_relaxed);
}

void amg_upool_drop(struct amg_upool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->users, 1, memory_order_acq_rel) == 1 &&
        pool->is_automatic)
        amg_upool_destroy(pool);
}

/* Its pool has a name for it, or needs none. */
static bool unit_fits(const struct amg_upool *pool, const struct amg_ult *ult)
{
    const struct amg_unit *unit = ult->unit;

    return unit == NULL ? pool->user == NULL : unit->pool == pool;
}

/* An ABT code. */
static int unit_renew(struct amg_upool *pool, struct amg_ult *ult)
{
    struct amg_unit *unit = NULL;
    int rc = ABT_SUCCESS;

    if (pool->user != NULL)
        rc = amg_upool_user_unit_create(pool, ult, &unit);
    if (rc != ABT_SUCCESS)
        return rc;
    if (ult->unit != NULL)
        amg_upool_user_unit_free(ult->unit);
    ult->unit = unit;
    return ABT_SUCCESS;
}

int amg_upool_adopt(struct amg_upool *pool, struct amg_ult *ult)
{
    int rc = ABT_SUCCESS;

    if (!unit_fits(pool, ult))
        rc = unit_renew(pool, ult);
    if (rc == ABT_SUCCESS)
        amg_ult_set_pool(ult, pool);
    return rc;
}

void amg_upool_disown(struct amg_ult *ult)
{
    if (ult->unit != NULL)
        amg_upool_user_unit_free(ult->unit);
    ult->unit = NULL;
}

/* A thread that went over to a pool of the program's without being adopted has
 * no way back. */
static void user_push(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    if (!unit_fits(pool, ult) && unit_renew(pool, ult) != ABT_SUCCESS) {
        AMG_LOG_ERROR("ult",
            "pool %d, which is the program's, has no unit for a thread that is "
            "ready: its function gave none, or there is no memory; the process "
            "is stopped, since the thread would be lost",
            pool->id);
        abort();
    }
    amg_upool_user_push(pool, ult, context);
}

/* Need nobody be woken for the one thread that is ready? Not if the calling
 * stream, which it has just left, comes to it next: its scheduler, one of ours,
 * has the stack, and nothing else to run. What it does first or instead, it
 * passes on before; see amg_sched_run(). */
static bool stream_will_look(const struct amg_upool *pool)
{
    const struct amg_host *host = amg_host_self();
    const struct amg_stream *stream = host == NULL ? NULL : host->stream;
    const struct amg_sched *sched = NULL;

    if (stream == NULL || host->handed != NULL ||
        host->current->kind != AMG_ULT_SCHEDULER)
        return false;
    sched = atomic_load_explicit(&stream->sched, memory_order_relaxed);
    return !sched->is_users && amg_sched_has(sched, pool) &&
           amg_sched_size(sched) == 1;
}

/* Where it comes from. */
enum push_from { FROM_ELSEWHERE, FROM_YIELD, FROM_BLOCKED };

static void pool_push(struct amg_upool *pool, struct amg_ult *ult,
    enum push_from from, ABT_pool_context context)
{
    struct amg_claim claim = {.was = AMG_SLEEP_AWAKE};

    if (pool->ops == NULL)
        user_push(pool, ult, context);
    else if (ult->unit != NULL)
        amg_upool_disown(ult);
    amg_bias_take(&pool->lock);
    if (pool->ops == NULL) {
        size_change(pool, 1);
    } else {
        pool->ops->push(pool, ult);
        ult_is_in_locked(ult, pool);
        size_change_locked(pool, 1);
    }
    if (from == FROM_BLOCKED)
        blocked_change_locked(pool, -1);
    if (!amg_list_is_empty(&pool->watches) &&
        !(from == FROM_YIELD && stream_will_look(pool)))
        amg_sleeper_claim_first(&pool->watches, &claim);
    amg_bias_give(&pool->lock);
    /* The thread may have run and the pool be gone by now. */
    if (claim.was != AMG_SLEEP_AWAKE)
        amg_sleeper_ring(&claim);
}

void amg_upool_push(struct amg_upool *pool, struct amg_ult *ult)
{
    pool_push(pool, ult, FROM_ELSEWHERE, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

void amg_upool_push_unblocked(struct amg_upool *pool, struct amg_ult *ult)
{
    pool_push(pool, ult, FROM_BLOCKED, ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

void amg_upool_push_yielded(struct amg_upool *pool, struct amg_ult *ult)
{
    pool_push(pool, ult, FROM_YIELD, ABT_POOL_CONTEXT_OP_THREAD_YIELD);
}

void amg_upool_push_for(
    struct amg_upool *pool, struct amg_ult *ult, ABT_pool_context context)
{
    pool_push(pool, ult, FROM_ELSEWHERE, context);
}

void amg_upool_count_popped(struct amg_upool *pool)
{
    size_change(pool, (size_t)-1);
}

static struct amg_ult *user_pop(
    struct amg_upool *pool, ABT_pool_context context)
{
    struct amg_ult *ult = amg_upool_user_pop(pool, context);

    if (ult != NULL)
        size_change(pool, (size_t)-1);
    return ult;
}

/* By one of the functions of its kind. */
static struct amg_ult *pool_take(
    struct amg_upool *pool, struct amg_ult *(*take)(struct amg_upool *pool))
{
    struct amg_ult *ult = NULL;

    if (atomic_load_explicit(&pool->size, memory_order_relaxed) == 0)
        return NULL;
    amg_bias_take(&pool->lock);
    ult = take(pool);
    if (ult != NULL) {
        ult_is_in_locked(ult, NULL);
        size_change_locked(pool, (size_t)-1);
    }
    amg_bias_give(&pool->lock);
    return ult;
}

struct amg_ult *amg_upool_pop(struct amg_upool *pool)
{
    if (pool->ops == NULL)
        return user_pop(pool, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return pool_take(pool, pool->ops->pop);
}

struct amg_ult *amg_upool_pop_for(
    struct amg_upool *pool, ABT_pool_context context)
{
    return pool->ops == NULL ? user_pop(pool, context) : amg_upool_pop(pool);
}

struct amg_ult *amg_upool_steal(struct amg_upool *pool)
{
    if (pool->ops == NULL)
        return user_pop(pool, ABT_POOL_CONTEXT_OP_POOL_OTHER);
    return pool_take(pool, pool->ops->steal);
}

bool amg_upool_remove(struct amg_upool *pool, struct amg_ult *ult)
{
    bool is_there = false;

    if (pool->ops == NULL) {
        is_there = amg_upool_user_remove(pool, ult);
        if (is_there)
            size_change(pool, (size_t)-1);
        return is_there;
    }
    amg_bias_take(&pool->lock);
    AMG_TEST_POINT("upool.remove");
    is_there = amg_ult_is_in(ult, pool);
    if (is_there) {
        ult_is_in_locked(ult, NULL);
        amg_list_remove(&ult->link);
        size_change_locked(pool, (size_t)-1);
    }
    amg_bias_give(&pool->lock);
    return is_there;
}

size_t amg_upool_size(const struct amg_upool *pool)
{
    if (pool->ops == NULL)
        return amg_upool_user_size(pool);
    return atomic_load_explicit(&pool->size, memory_order_relaxed);
}

size_t amg_upool_total(const struct amg_upool *pool)
{
    /* In this order, or one that is made ready meanwhile would count in
     * neither. Acquire: pairs with blocked_change_locked(). */
    size_t blocked = atomic_load_explicit(&pool->blocked, memory_order_acquire);

    return amg_upool_size(pool) + blocked;
}

static void list_each(const struct amg_list *list, void *arg,
    void (*visit)(void *arg, ABT_thread thread))
{
    for (struct amg_link *link = list->head.next; link != &list->head;
         link = link->next)
        visit(arg, amg_ult_handle(AMG_OBJECT(link, struct amg_ult, link)));
}

void amg_upool_each(struct amg_upool *pool, void *arg,
    void (*visit)(void *arg, ABT_thread thread))
{
    amg_bias_take(&pool->lock);
    list_each(&pool->ready, arg, visit);
    list_each(&pool->fresh, arg, visit);
    amg_bias_give(&pool->lock);
}

void amg_upool_count_blocked(struct amg_upool *pool, int change)
{
    amg_bias_take(&pool->lock);
    blocked_change_locked(pool, change);
    amg_bias_give(&pool->lock);
}

bool amg_upool_watch(struct amg_upool *pool, struct amg_watch *watch)
{
    amg_bias_take(&pool->lock);
    amg_list_push(&pool->watches, &watch->link);
    amg_bias_give(&pool->lock);
    return amg_upool_size(pool) == 0;
}

void amg_upool_unwatch(struct amg_upool *pool, struct amg_watch *watch)
{
    amg_bias_take(&pool->lock);
    if (amg_link_is_listed(&watch->link))
        amg_list_remove(&watch->link);
    amg_bias_give(&pool->lock);
}

void amg_upool_nudge(struct amg_upool *pool)
{
    struct amg_claim claim = {.was = AMG_SLEEP_AWAKE};

    if (amg_upool_size(pool) == 0)
        return;
    amg_bias_take(&pool->lock);
    amg_sleeper_claim_first(&pool->watches, &claim);
    amg_bias_give(&pool->lock);
    if (claim.was != AMG_SLEEP_AWAKE)
        amg_sleeper_ring(&claim);
}
