/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of exposed buffers that the program takes and releases repeatedly, and
 * sets of pools with growing sizes.
 *
 * The buffers are library memory, which has the fastest paths to peers. A
 * released buffer goes to the caller that has waited longest, if any waits. The
 * struct of a destroyed pool is reused only for a pool, the struct of a set
 * only for a set, so that a call with a destroyed pool or set is recognised. */

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "margo-bulk-pool.h"
#include "margo/request.h"

struct pool_buffer {
    struct pool_buffer *next; /* in the list of free buffers */
    hg_bulk_t bulk;
    bool is_lent; /* in use by the program */
};

/* A caller that waits for a buffer; on that caller's stack. */
struct pool_waiter {
    struct amg_link link;
    struct amg_margo_waiter waiter;
    hg_bulk_t bulk; /* the buffer; set before the wake-up */
};

static struct amg_attic pool_attic;
static struct amg_attic set_attic;

/* Owned by its creator. */
struct margo_bulk_pool {
    struct amg_link kept; /* in pool_attic, once destroyed */
    margo_instance_id mid;
    struct amg_map by_bulk;      /* buffers, by handle; constant */
    struct pool_buffer *buffers; /* NULL: the pool is destroyed */
    size_t count;
    struct amg_lock lock;      /* guards the fields below */
    struct pool_buffer *first; /* free buffers */
    size_t lent;               /* number of buffers in use */
    struct amg_list waiters;   /* of struct pool_waiter, oldest first */
};

#define POOL_OK(pool)                                                          \
    AMG_ALIVE((pool) != MARGO_BULK_POOL_NULL && (pool)->buffers != NULL,       \
        "bulk pool", (pool))

static void pool_free(struct margo_bulk_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (pool->buffers[i].bulk != HG_BULK_NULL)
            (void)margo_bulk_free(pool->buffers[i].bulk);
    amg_map_fini(&pool->by_bulk, NULL);
    amg_mem_free(pool->buffers);
    pool->buffers = NULL;
    amg_attic_put(&pool_attic, pool);
}

static hg_return_t buffer_init(struct margo_bulk_pool *pool,
    struct pool_buffer *buffer, hg_size_t size, hg_uint8_t flag)
{
    hg_return_t rc =
        margo_bulk_create(pool->mid, 1, NULL, &size, flag, &buffer->bulk);

    if (rc != HG_SUCCESS) {
        buffer->bulk = HG_BULK_NULL;
        margo_error(pool->mid,
            "bulk pool: a buffer of %llu bytes with flags %#x cannot be "
            "exposed: %s",
            (unsigned long long)size, (unsigned)flag, HG_Error_to_string(rc));
        return rc == HG_NOMEM ? HG_NOMEM_ERROR : HG_OTHER_ERROR;
    }
    if (amg_map_put(&pool->by_bulk, (uint64_t)(uintptr_t)buffer->bulk,
            buffer) != HG_SUCCESS)
        return HG_NOMEM_ERROR;
    buffer->next = pool->first;
    pool->first = buffer;
    return HG_SUCCESS;
}

hg_return_t margo_bulk_pool_create(margo_instance_id mid, hg_size_t count,
    hg_size_t size, hg_uint8_t flag, margo_bulk_pool_t *pool)
{
    struct margo_bulk_pool *made = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (mid == MARGO_INSTANCE_NULL || pool == NULL || count == 0 || size == 0 ||
        size > PTRDIFF_MAX / count ||
        count > PTRDIFF_MAX / (2 * sizeof(made->buffers[0])))
        return HG_INVALID_ARG;
    made = amg_attic_get(
        &pool_attic, _Alignof(struct margo_bulk_pool), sizeof(*made));
    if (made == NULL)
        return HG_NOMEM_ERROR;
    *made = (struct margo_bulk_pool){.mid = mid, .count = count};
    made->buffers = amg_mem_zalloc(count * sizeof(made->buffers[0]));
    if (made->buffers == NULL) {
        amg_attic_put(&pool_attic, made);
        return HG_NOMEM_ERROR;
    }
    amg_lock_init(&made->lock);
    amg_list_init(&made->waiters);
    for (size_t i = 0; i < count; i++) {
        rc = buffer_init(made, &made->buffers[i], size, flag);
        if (rc != HG_SUCCESS) {
            pool_free(made);
            return rc;
        }
    }
    *pool = made;
    return HG_SUCCESS;
}

static size_t lent_count(struct margo_bulk_pool *pool)
{
    size_t lent = 0;

    amg_lock_lock(&pool->lock);
    lent = pool->lent;
    amg_lock_unlock(&pool->lock);
    return lent;
}

int margo_bulk_pool_destroy(margo_bulk_pool_t pool)
{
    size_t lent = 0;

    if (!POOL_OK(pool))
        return -1;
    lent = lent_count(pool);
    if (lent > 0) {
        margo_error(pool->mid,
            "bulk pool: %zu of %zu buffers are in use, and nothing was "
            "destroyed; release them by margo_bulk_pool_release() first",
            lent, pool->count);
        return -1;
    }
    pool_free(pool);
    return 0;
}

/* Takes a free buffer out of the pool; NULL: all buffers are in use. */
static struct pool_buffer *buffer_take_locked(struct margo_bulk_pool *pool)
{
    struct pool_buffer *buffer = pool->first;

    AMG_ASSERT_HELD(&pool->lock);
    if (buffer == NULL)
        return NULL;
    pool->first = buffer->next;
    buffer->is_lent = true;
    pool->lent++;
    return buffer;
}

/* Waits for a buffer, and logs the wait every AMALGAM_SILENT_MS. */
static void buffer_await(
    struct margo_bulk_pool *pool, struct amg_margo_waiter *waiter)
{
    unsigned silent_ms = (unsigned)amg_env_number(AMG_ENV_SILENT);

    while (silent_ms != 0 && !amg_margo_waiter_wait_until(
                                 waiter, amg_clock_deadline_ns(silent_ms)))
        margo_warning(pool->mid,
            "margo_bulk_pool_get() has waited %u ms: all %zu buffers of the "
            "pool are in use; margo_bulk_pool_release() gives one back",
            silent_ms, pool->count);
    amg_margo_waiter_wait(waiter, 1);
}

int margo_bulk_pool_get(margo_bulk_pool_t pool, hg_bulk_t *bulk)
{
    struct pool_buffer *buffer = NULL;
    struct pool_waiter own = {.bulk = HG_BULK_NULL};
    bool can_wait = false;

    if (!POOL_OK(pool) || bulk == NULL)
        return -1;
    can_wait = !amg_margo_is_tasklet();
    amg_lock_lock(&pool->lock);
    buffer = buffer_take_locked(pool);
    if (buffer == NULL && can_wait) {
        amg_margo_waiter_init(&own.waiter);
        amg_list_push(&pool->waiters, &own.link);
    }
    amg_lock_unlock(&pool->lock);
    if (buffer != NULL) {
        *bulk = buffer->bulk;
        return 0;
    }
    if (!can_wait) {
        margo_error(pool->mid,
            "%s(): all %zu buffers are in use, and a tasklet cannot wait for "
            "one; use margo_bulk_pool_tryget(), or a user-level thread",
            __func__, pool->count);
        return -1;
    }
    buffer_await(pool, &own.waiter);
    *bulk = own.bulk;
    return 0;
}

int margo_bulk_pool_tryget(margo_bulk_pool_t pool, hg_bulk_t *bulk)
{
    struct pool_buffer *buffer = NULL;

    if (!POOL_OK(pool) || bulk == NULL)
        return -1;
    amg_lock_lock(&pool->lock);
    buffer = buffer_take_locked(pool);
    amg_lock_unlock(&pool->lock);
    *bulk = buffer == NULL ? HG_BULK_NULL : buffer->bulk;
    return 0;
}

static bool pool_has(const struct margo_bulk_pool *pool, hg_bulk_t bulk)
{
    return amg_map_get(&pool->by_bulk, (uint64_t)(uintptr_t)bulk) != NULL;
}

/* Gives the buffer to the caller that has waited longest, and returns that
 * caller. If no caller waits, puts the buffer into the pool; returns NULL. */
static struct pool_waiter *buffer_give_locked(
    struct margo_bulk_pool *pool, struct pool_buffer *buffer)
{
    struct amg_link *link = amg_list_pop(&pool->waiters);
    struct pool_waiter *next = NULL;

    AMG_ASSERT_HELD(&pool->lock);
    if (link != NULL) {
        next = amg_container_of(link, struct pool_waiter, link);
        next->bulk = buffer->bulk;
        return next;
    }
    buffer->is_lent = false;
    buffer->next = pool->first;
    pool->first = buffer;
    pool->lent--;
    return NULL;
}

int margo_bulk_pool_release(margo_bulk_pool_t pool, hg_bulk_t bulk)
{
    struct pool_buffer *buffer = NULL;
    struct pool_waiter *next = NULL;
    bool was_lent = false;

    if (!POOL_OK(pool) || bulk == HG_BULK_NULL)
        return -1;
    buffer = amg_map_get(&pool->by_bulk, (uint64_t)(uintptr_t)bulk);
    if (buffer != NULL) {
        amg_lock_lock(&pool->lock);
        was_lent = buffer->is_lent;
        if (was_lent)
            next = buffer_give_locked(pool, buffer);
        amg_lock_unlock(&pool->lock);
    }
    if (!was_lent) {
        margo_error(pool->mid,
            "bulk pool: handle %p is not a buffer in use of this pool",
            (void *)bulk);
        return -1;
    }
    if (next != NULL)
        amg_margo_waiter_wake(&next->waiter);
    return 0;
}

struct size_class {
    hg_size_t size;
    margo_bulk_pool_t pool;
};

/* Owned by its creator; constant. The pools have locks of their own. */
struct margo_bulk_poolset {
    struct amg_link kept; /* in set_attic, once destroyed */
    margo_instance_id mid;
    size_t count;
    struct size_class *classes; /* smallest first; NULL: set destroyed */
};

#define SET_OK(set)                                                            \
    AMG_ALIVE((set) != MARGO_BULK_POOLSET_NULL && (set)->classes != NULL,      \
        "bulk poolset", (set))

static void set_free(struct margo_bulk_poolset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->classes[i].pool != MARGO_BULK_POOL_NULL)
            (void)margo_bulk_pool_destroy(set->classes[i].pool);
    amg_mem_free(set->classes);
    set->classes = NULL;
    amg_attic_put(&set_attic, set);
}

/* Is the largest size at most PTRDIFF_MAX? */
static bool sizes_are_possible(
    hg_size_t npools, hg_size_t first_size, hg_size_t size_multiple)
{
    hg_size_t size = first_size;

    for (hg_size_t i = 1; i < npools; i++) {
        if (size > PTRDIFF_MAX / size_multiple)
            return false;
        size *= size_multiple;
    }
    return true;
}

hg_return_t margo_bulk_poolset_create(margo_instance_id mid, hg_size_t npools,
    hg_size_t nbufs, hg_size_t first_size, hg_size_t size_multiple,
    hg_uint8_t flag, margo_bulk_poolset_t *poolset)
{
    struct margo_bulk_poolset *set = NULL;
    hg_size_t size = first_size;

    if (mid == MARGO_INSTANCE_NULL || poolset == NULL || npools == 0 ||
        nbufs == 0 || first_size == 0 || size_multiple < 2 ||
        !sizes_are_possible(npools, first_size, size_multiple))
        return HG_INVALID_ARG;
    set = amg_attic_get(
        &set_attic, _Alignof(struct margo_bulk_poolset), sizeof(*set));
    if (set == NULL)
        return HG_NOMEM_ERROR;
    *set = (struct margo_bulk_poolset){.mid = mid, .count = npools};
    set->classes = amg_mem_zalloc(npools * sizeof(set->classes[0]));
    if (set->classes == NULL) {
        amg_attic_put(&set_attic, set);
        return HG_NOMEM_ERROR;
    }
    for (size_t i = 0; i < npools; i++) {
        hg_return_t rc = margo_bulk_pool_create(
            mid, nbufs, size, flag, &set->classes[i].pool);

        if (rc != HG_SUCCESS) {
            set_free(set);
            return rc;
        }
        set->classes[i].size = size;
        size *= size_multiple;
    }
    *poolset = set;
    return HG_SUCCESS;
}

int margo_bulk_poolset_destroy(margo_bulk_poolset_t poolset)
{
    size_t lent = 0;

    if (!SET_OK(poolset))
        return -1;
    for (size_t i = 0; i < poolset->count; i++)
        lent += lent_count(poolset->classes[i].pool);
    if (lent > 0) {
        margo_error(poolset->mid,
            "bulk poolset: %zu buffers are in use, and nothing was destroyed; "
            "release them by margo_bulk_poolset_release() first",
            lent);
        return -1;
    }
    set_free(poolset);
    return 0;
}

void margo_bulk_poolset_get_max(margo_bulk_poolset_t poolset, hg_size_t *max)
{
    if (SET_OK(poolset) && AMG_GIVEN(max))
        *max = poolset->classes[poolset->count - 1].size;
}

/* Index of the smallest class that fits; set->count: no class fits, logged. */
static size_t class_find(const struct margo_bulk_poolset *set, hg_size_t size)
{
    size_t i = 0;

    while (i < set->count && set->classes[i].size < size)
        i++;
    if (i == set->count)
        margo_error(set->mid,
            "bulk poolset: %llu bytes requested, but the largest buffers have "
            "%llu",
            (unsigned long long)size,
            (unsigned long long)set->classes[set->count - 1].size);
    return i;
}

int margo_bulk_poolset_get(
    margo_bulk_poolset_t poolset, hg_size_t size, hg_bulk_t *bulk)
{
    size_t i = 0;

    if (!SET_OK(poolset) || bulk == NULL)
        return -1;
    i = class_find(poolset, size);
    return i == poolset->count
               ? -1
               : margo_bulk_pool_get(poolset->classes[i].pool, bulk);
}

int margo_bulk_poolset_tryget(margo_bulk_poolset_t poolset, hg_size_t size,
    hg_bool_t any_flag, hg_bulk_t *bulk)
{
    hg_bulk_t found = HG_BULK_NULL;
    size_t i = 0;

    if (!SET_OK(poolset) || bulk == NULL)
        return -1;
    i = class_find(poolset, size);
    if (i == poolset->count)
        return -1;
    do
        (void)margo_bulk_pool_tryget(poolset->classes[i].pool, &found);
    while (found == HG_BULK_NULL && any_flag && ++i < poolset->count);
    *bulk = found;
    return 0;
}

int margo_bulk_poolset_release(margo_bulk_poolset_t poolset, hg_bulk_t bulk)
{
    if (!SET_OK(poolset) || bulk == HG_BULK_NULL)
        return -1;
    for (size_t i = 0; i < poolset->count; i++)
        if (pool_has(poolset->classes[i].pool, bulk))
            return margo_bulk_pool_release(poolset->classes[i].pool, bulk);
    margo_error(poolset->mid,
        "bulk poolset: handle %p is not a buffer of this set", (void *)bulk);
    return -1;
}
