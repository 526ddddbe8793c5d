/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pool of a class for bulk transfers.
 *
 * A mapping, cut into used and free ranges of any multiple of 64 bytes (a
 * line): size classes would round a block of 600 MiB up to 1 GiB. A free range
 * is on the list of the largest power of two that is not above its length. The
 * nodes of the ranges are not in the mapping, because peers can write to it.
 *
 * Nothing is lost: a range ends where the next range in the ring begins, so
 * each byte is in one range. Nothing is handed out twice: a range is free if
 * and only if it is on a list, and leaves the list before a part of it is
 * handed out; only a block in the map `used` can be freed.
 *
 * Zeroed memory: above the mark no range was ever used, so the kernel's zeros
 * are still there. Freed memory keeps its pages up to KEEP_LEN in all; beyond
 * that, a freed block of DISCARD_LEN or more returns its pages to the system.
 *
 * In a child of fork() the mapping is private: the child sees its parent's
 * bytes in a page until it writes to that page. */
#include "core/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"

enum {
    LINE_LEN = 64,
    LISTS = 58, /* a list for each power of two, in lines */
};

static const uint64_t KEEP_LEN = 64ull << 20;     /* glibc keeps as much */
static const uint64_t DISCARD_LEN = 256ull << 10; /* least block to return */

struct range {
    struct range *next;
    struct range *prev;
    struct amg_link free; /* listed while the range is free */
    uint64_t offset;
};

struct amg_class_pool {
    struct amg_area area;
    struct amg_mapping mapping;
    atomic_bool has_warned;
    struct amg_lock lock;  /* guards all below */
    struct amg_pool nodes; /* struct range */
    struct range ends;     /* before the first range, and after the last */
    struct amg_list lists[LISTS];
    struct amg_map used; /* ranges in use, by offset */
    uint64_t mark;       /* nothing from here on was ever used */
    uint64_t warm_len;   /* free bytes that still have pages, roughly */
};

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & -align;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static struct amg_list *list_of(struct amg_class_pool *pool, uint64_t len)
{
    return &pool->lists[63 - __builtin_clzll(len / LINE_LEN)];
}

/* Cuts a range; the bytes from `offset` on become the range that is returned,
 * which is on no list. NULL: no memory. */
static struct range *range_cut(
    struct amg_class_pool *pool, struct range *range, uint64_t offset)
{
    struct range *node = amg_pool_get(&pool->nodes);

    if (node == NULL)
        return NULL;
    node->offset = offset;
    node->prev = range;
    node->next = range->next;
    range->next->prev = node;
    range->next = node;
    return node;
}

/* Merges a range with the next range, which is on no list. */
static void range_join(struct amg_class_pool *pool, struct range *range)
{
    struct range *next = range->next;

    range->next = next->next;
    next->next->prev = range;
    amg_pool_put(&pool->nodes, next);
}

/* Frees a range, and merges it with its free neighbours. */
static void range_free_locked(struct amg_class_pool *pool, struct range *range)
{
    AMG_ASSERT_HELD(&pool->lock);
    if (amg_link_is_listed(&range->prev->free)) {
        range = range->prev;
        amg_list_remove(&range->free);
        range_join(pool, range);
    }
    if (amg_link_is_listed(&range->next->free)) {
        amg_list_remove(&range->next->free);
        range_join(pool, range);
    }
    amg_list_push_front(
        list_of(pool, range->next->offset - range->offset), &range->free);
}

static struct range *range_find_locked(
    struct amg_class_pool *pool, uint64_t len, uint64_t align)
{
    struct amg_list *list = list_of(pool, len);

    AMG_ASSERT_HELD(&pool->lock);
    for (; list < pool->lists + LISTS; list++) {
        struct amg_link *link = amg_list_first(list);

        for (; link != NULL; link = amg_list_next(list, link)) {
            struct range *range = amg_container_of(link, struct range, free);

            if (round_up(range->offset, align) + len <= range->next->offset)
                return range;
        }
    }
    return NULL;
}

/* A new block, or NULL; its first `*ret_dirty_len` bytes were used before.
 * NOTE(not a leaf lock): `nodes` takes its own lock inside; no thread that
 * holds the lock of `nodes` takes `lock`. */
static char *block_alloc_locked(struct amg_class_pool *pool, uint64_t len,
    uint64_t align, uint64_t *ret_dirty_len)
{
    struct range *range = range_find_locked(pool, len, align);
    struct range *part = NULL;
    uint64_t from = 0;
    uint64_t to = 0;

    AMG_ASSERT_HELD(&pool->lock);
    if (range == NULL)
        return NULL;
    from = round_up(range->offset, align);
    to = from + len;
    amg_list_remove(&range->free);
    if (to < range->next->offset) {
        part = range_cut(pool, range, to);
        if (part == NULL)
            goto free_range;
        range_free_locked(pool, part);
    }
    if (from > range->offset) {
        part = range_cut(pool, range, from);
        if (part == NULL)
            goto free_range;
        range_free_locked(pool, range);
        range = part;
    }
    if (amg_map_put(&pool->used, from, range) != HG_SUCCESS)
        goto free_range;
    *ret_dirty_len = pool->mark > from ? least(pool->mark - from, len) : 0;
    pool->warm_len -= least(pool->warm_len, *ret_dirty_len);
    if (pool->mark < to)
        pool->mark = to;
    return (char *)pool->area.base + from;

free_range:
    range_free_locked(pool, range);
    return NULL;
}

hg_return_t amg_class_pool_create(
    uint64_t len, struct amg_class_pool **ret_pool)
{
    struct amg_class_pool *pool = NULL;
    struct amg_mapping mapping;
    struct range *all = NULL;

    if (len == 0 || amg_mapping_open("amalgam", len, &mapping) != HG_SUCCESS) {
        *ret_pool = NULL;
        return HG_SUCCESS;
    }
    pool = amg_mem_zalloc(sizeof(*pool));
    if (pool == NULL)
        goto close_mapping;
    pool->mapping = mapping;
    pool->area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    pool->ends.next = pool->ends.prev = &pool->ends;
    pool->ends.offset = mapping.len;
    for (unsigned i = 0; i < LISTS; i++)
        amg_list_init(&pool->lists[i]);
    amg_lock_init(&pool->lock);
    amg_pool_init(&pool->nodes, sizeof(struct range), _Alignof(struct range));
    all = range_cut(pool, &pool->ends, 0);
    if (all == NULL)
        goto free_pool;
    amg_list_push(list_of(pool, mapping.len), &all->free);
    *ret_pool = pool;
    return HG_SUCCESS;

free_pool:
    amg_mem_free(pool);
close_mapping:
    amg_mapping_close(&mapping);
    return HG_NOMEM;
}

void amg_class_pool_destroy(struct amg_class_pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->ends.next != &pool->ends)
        range_join(pool, &pool->ends);
    amg_pool_fini(&pool->nodes);
    amg_map_fini(&pool->used, NULL);
    amg_mapping_close(&pool->mapping);
    amg_mem_free(pool);
}

const struct amg_area *amg_class_pool_area(const struct amg_class_pool *pool)
{
    return pool == NULL ? NULL : &pool->area;
}

static bool pool_has(const struct amg_class_pool *pool, const void *ptr)
{
    return pool != NULL && (uintptr_t)ptr >= (uintptr_t)pool->area.base &&
           (uintptr_t)ptr - (uintptr_t)pool->area.base < pool->area.len;
}

static void *heap_alloc(struct amg_class_pool *pool, uint64_t len,
    uint64_t align, enum amg_class_pool_want want)
{
    if (pool != NULL && !atomic_exchange_explicit(
                            &pool->has_warned, true, memory_order_relaxed))
        AMG_LOG_WARNING("bulk",
            "no room for %llu bytes in the pool of %llu bytes; some memory now "
            "comes from the heap, which peers of this node access more slowly; "
            "raise AMALGAM_POOL_BYTES",
            (unsigned long long)len, (unsigned long long)pool->area.len);
    if (len > SIZE_MAX - AMG_PAGE_LEN)
        return NULL;
    /* Zeros of the heap cost nothing for large sizes. */
    return want == AMG_CLASS_POOL_ZEROS ? amg_mem_zalloc(len)
                                        : amg_mem_alloc_aligned(align, len);
}

void *amg_class_pool_alloc(
    struct amg_class_pool *pool, uint64_t len, enum amg_class_pool_want want)
{
    uint64_t align = len < AMG_PAGE_LEN ? LINE_LEN : AMG_PAGE_LEN;
    uint64_t dirty_len = 0;
    char *ptr = NULL;

    if (len == 0)
        len = 1;
    if (pool != NULL && len <= pool->area.len) {
        amg_lock_lock(&pool->lock);
        ptr = block_alloc_locked(pool, round_up(len, align), align, &dirty_len);
        amg_lock_unlock(&pool->lock);
    }
    if (ptr == NULL)
        return heap_alloc(pool, len, align, want);
    if (want == AMG_CLASS_POOL_ANY)
        return ptr;
    /* Discarded pages read as zeros; for many pages memset() takes longer. */
    dirty_len = round_up(dirty_len, align);
    if (dirty_len < KEEP_LEN ||
        amg_mapping_discard(&pool->mapping,
            (uint64_t)(ptr - (char *)pool->area.base), dirty_len) != HG_SUCCESS)
        memset(ptr, 0, dirty_len);
    return ptr;
}

void amg_class_pool_free(struct amg_class_pool *pool, void *ptr)
{
    struct range *range = NULL;
    uint64_t offset = 0;
    uint64_t len = 0;
    bool is_cold = false;

    if (!pool_has(pool, ptr)) {
        amg_mem_free(ptr);
        return;
    }
    offset = (uint64_t)((char *)ptr - (char *)pool->area.base);
    amg_lock_lock(&pool->lock);
    range = amg_map_remove(&pool->used, offset);
    AMG_ASSERT(range != NULL);
    len = range->next->offset - offset;
    if (len >= DISCARD_LEN && pool->warm_len + len > KEEP_LEN) {
        /* No other thread can find the range: no map and no list has it. */
        amg_lock_unlock(&pool->lock);
        is_cold =
            amg_mapping_discard(&pool->mapping, offset, len) == HG_SUCCESS;
        amg_lock_lock(&pool->lock);
    }
    if (!is_cold)
        pool->warm_len += len;
    range_free_locked(pool, range);
    amg_lock_unlock(&pool->lock);
}
