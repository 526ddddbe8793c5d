/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of objects, and attics: memory that only ever holds objects of one
 * kind. */
#ifndef AMG_BASE_POOL_H
#define AMG_BASE_POOL_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/list.h"
#include "base/lock.h"

/* Freed objects of a kind; of static storage; all zeros is an empty attic. */
struct amg_attic {
    struct amg_link *free; /* singly linked through .next */
    struct amg_link *last; /* end of that list */
    size_t count;
    size_t rest; /* count up to which no object is reused; constant */
};

/* `len` bytes as amg_attic_put() took them, except for the first two words; new
 * memory is zero. NULL: no memory. `align` as for amg_mem_alloc_aligned(). */
void *amg_attic_get(struct amg_attic *attic, size_t align, size_t len);
/* The attic then owns the first two words of the object; accepts NULL. */
void amg_attic_put(struct amg_attic *attic, void *object);

/* Owned by the struct that embeds it. Any thread may get and put. */
struct amg_pool {
    struct amg_bias lock;  /* guards all below */
    struct amg_link *free; /* singly linked through .next */
    size_t object_len;
    size_t align;
    size_t live;             /* objects handed out */
    struct amg_attic *attic; /* source of the memory; NULL: the heap */
    /* The object made last; a release that pairs with amg_pool_visit(). */
    _Atomic(void *) made;
};

/* `align` is a power of two, at least the alignment of a pointer. */
void amg_pool_init(struct amg_pool *pool, size_t object_len, size_t align);
/* amg_pool_init() with memory of an attic; amg_pool_fini() gives it back. */
void amg_pool_init_kept(struct amg_pool *pool, size_t object_len, size_t align,
    struct amg_attic *attic);
/* Frees unused objects, or gives them to the attic. No object is handed out. */
void amg_pool_fini(struct amg_pool *pool);
/* Calls `fn` for each unused object, to release what the object owns. No other
 * thread uses the pool. */
void amg_pool_each(struct amg_pool *pool, void (*fn)(void *object));
/* Calls `visit` for all objects, used or not, while other threads may use the
 * objects and the pool. No thread calls amg_pool_fini(). */
void amg_pool_visit(
    struct amg_pool *pool, void (*visit)(void *object, void *arg), void *arg);
/* Objects handed out. */
size_t amg_pool_live(struct amg_pool *pool);
/* Allocates `count` objects now. Returns how many were allocated. */
size_t amg_pool_fill(struct amg_pool *pool, size_t count);
/* A new object from the heap or the attic, handed out; NULL: no memory. */
void *amg_pool_make(struct amg_pool *pool);
/* An object with its bytes as amg_pool_put() took them, but for the first two
 * words, which the pool uses; new memory is zero. NULL: no memory. */
void *amg_pool_get_slowly(struct amg_pool *pool);
/* For AMG_ASSERT_DEEP(): notes in an object whether it is in the pool. False:
 * it is put there for the second time. */
static inline bool amg_pool_note(
    struct amg_pool *pool, struct amg_link *object, bool is_in)
{
    bool was_in = object->prev == (void *)pool;

    object->prev = is_in ? (void *)pool : NULL;
    return !(was_in && is_in);
}
static AMG_INLINE void *amg_pool_get(struct amg_pool *pool)
{
    struct amg_link *object = NULL;

    if (!amg_bias_lock_own(&pool->lock))
        return amg_pool_get_slowly(pool);
    object = pool->free;
    if (!AMG_LIKELY(object != NULL)) {
        amg_bias_unlock_own(&pool->lock);
        return amg_pool_make(pool);
    }
    AMG_ASSERT_DEEP(amg_pool_note(pool, object, false));
    pool->free = object->next;
    pool->live++;
    amg_bias_unlock_own(&pool->lock);
    return object;
}
static inline void amg_pool_add_locked(struct amg_pool *pool, void *object)
{
    struct amg_link *link = object;

    AMG_ASSERT_HELD_BIAS(&pool->lock);
    AMG_ASSERT(pool->live > 0);
    AMG_ASSERT_DEEP(amg_pool_note(pool, link, true));
    link->next = pool->free;
    pool->free = link;
    pool->live--;
}
void amg_pool_put_slowly(struct amg_pool *pool, void *object);
static AMG_INLINE void amg_pool_put(struct amg_pool *pool, void *object)
{
    if (!amg_bias_lock_own(&pool->lock)) {
        amg_pool_put_slowly(pool, object);
        return;
    }
    amg_pool_add_locked(pool, object);
    amg_bias_unlock_own(&pool->lock);
}

#endif
