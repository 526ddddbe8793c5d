/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of objects, and attics: memory that only ever holds objects of one
 * kind. */
#include "base/pool.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* A program may use a handle, a class or a request that it has destroyed. To
 * report such a use instead of corrupting memory, the library must know that
 * the pointer leads to an object of that kind, live or destroyed. So memory of
 * a kind of objects is never used for anything else: such memory is not
 * returned to the system, and not counted as in use. An attic grows to the
 * largest number of objects that existed at once. A new object at the same
 * address is not distinguished from the old object. */

static struct amg_lock attics_lock AMG_LOCK_KEPT; /* guards all attics */

static void *zeros_alloc(size_t align, size_t len)
{
    void *object = amg_mem_alloc_aligned(align, len);

    if (object != NULL)
        memset(object, 0, len);
    return object;
}

void *amg_attic_get(struct amg_attic *attic, size_t align, size_t len)
{
    struct amg_link *object = NULL;

    amg_lock_lock(&attics_lock);
    if (attic->count > attic->rest) {
        object = attic->free;
        attic->free = object->next;
        attic->count--;
    }
    amg_lock_unlock(&attics_lock);
    if (object != NULL)
        return object;
    return amg_mem_hand_over(zeros_alloc(align, len));
}

void amg_attic_put(struct amg_attic *attic, void *object)
{
    struct amg_link *link = object;

    if (link == NULL)
        return;
    amg_lock_lock(&attics_lock);
    /* Freed objects go last if they are kept back from reuse, else first (warm
     * in the cache). */
    if (attic->free == NULL || attic->rest == 0) {
        link->next = attic->free;
        attic->free = link;
    } else {
        link->next = NULL;
        attic->last->next = link;
    }
    if (link->next == NULL)
        attic->last = link;
    attic->count++;
    amg_lock_unlock(&attics_lock);
}

/* Behind each object of a pool: the object that was made before, or NULL. */
static void **made_before(const struct amg_pool *pool, void *object)
{
    return (void **)(void *)((char *)object + pool->object_len);
}

void amg_pool_init_kept(struct amg_pool *pool, size_t object_len, size_t align,
    struct amg_attic *attic)
{
    AMG_ASSERT(object_len >= sizeof(struct amg_link));
    amg_bias_init(&pool->lock);
    pool->free = NULL;
    pool->object_len =
        (object_len + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    atomic_init(&pool->made, NULL);
    pool->align = align;
    pool->live = 0;
    pool->attic = attic;
}

void amg_pool_init(struct amg_pool *pool, size_t object_len, size_t align)
{
    amg_pool_init_kept(pool, object_len, align, NULL);
}

void amg_pool_fini(struct amg_pool *pool)
{
    AMG_ASSERT(pool->live == 0);
    atomic_store_explicit(&pool->made, NULL, memory_order_relaxed);
    while (pool->free != NULL) {
        struct amg_link *next = pool->free->next;

        if (pool->attic != NULL)
            amg_attic_put(pool->attic, pool->free);
        else
            amg_mem_free(pool->free);
        pool->free = next;
    }
}

void amg_pool_each(struct amg_pool *pool, void (*fn)(void *object))
{
    for (struct amg_link *object = pool->free; object != NULL;
         object = object->next)
        fn(object);
}

void amg_pool_visit(
    struct amg_pool *pool, void (*visit)(void *object, void *arg), void *arg)
{
    void *object = atomic_load_explicit(&pool->made, memory_order_acquire);

    for (; object != NULL; object = *made_before(pool, object))
        visit(object, arg);
}

void *amg_pool_make(struct amg_pool *pool)
{
    size_t len = pool->object_len + sizeof(void *);
    void *object = pool->attic != NULL
                       ? amg_attic_get(pool->attic, pool->align, len)
                       : zeros_alloc(pool->align, len);

    if (object == NULL)
        return NULL;
    AMG_ASSERT_DEEP(amg_pool_note(pool, object, false));
    amg_bias_lock(&pool->lock);
    pool->live++;
    *made_before(pool, object) =
        atomic_load_explicit(&pool->made, memory_order_relaxed);
    atomic_store_explicit(&pool->made, object, memory_order_release);
    amg_bias_unlock(&pool->lock);
    return object;
}

void *amg_pool_get_slowly(struct amg_pool *pool)
{
    struct amg_link *object = NULL;

    amg_bias_lock(&pool->lock);
    object = pool->free;
    if (object != NULL) {
        AMG_ASSERT_DEEP(amg_pool_note(pool, object, false));
        pool->free = object->next;
        pool->live++;
    }
    amg_bias_unlock(&pool->lock);
    return object != NULL ? object : amg_pool_make(pool);
}

void amg_pool_put_slowly(struct amg_pool *pool, void *object)
{
    amg_bias_lock(&pool->lock);
    amg_pool_add_locked(pool, object);
    amg_bias_unlock(&pool->lock);
}

size_t amg_pool_live(struct amg_pool *pool)
{
    size_t live = 0;

    amg_bias_lock(&pool->lock);
    live = pool->live;
    amg_bias_unlock(&pool->lock);
    return live;
}

size_t amg_pool_fill(struct amg_pool *pool, size_t count)
{
    size_t made = 0;

    while (made < count) {
        void *object = amg_pool_make(pool);

        if (object == NULL)
            break;
        amg_pool_put(pool, object);
        made++;
    }
    return made;
}
