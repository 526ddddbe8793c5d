/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory pool of a class for bulk transfers.
 *
 * A mapping, cut into used and free ranges. All ranges are in a list by offset,
 * so that a free range can be merged with its neighbours; free ranges are also
 * in bins by length (bin b: from 2^b lines of 64 bytes on). The nodes of the
 * ranges are outside the mapping, because peers can write there.
 *
 * Callers may want zeroed memory. Above the mark no range was ever used, so the
 * kernel's zeros are still there. Freed memory keeps its pages up to KEEP_LEN
 * in all; beyond that they return to the system.
 *
 * A child of fork() has the memory as its parent does until the child writes a
 * page: then that page is its own. */
#include "core/pool.h"

#include <stdatomic.h>
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
    BINS = 58, /* lengths of 64 bits, in lines */
};

static const uint64_t KEEP_LEN = 64ull << 20;     /* most that glibc keeps */
static const uint64_t DISCARD_LEN = 256ull << 10; /* return no smaller ranges */

struct range {
    struct amg_link place;
    struct amg_link bin; /* listed while it is free */
    uint64_t offset;
    uint64_t len;
    bool is_free;
};

struct amg_class_pool {
    struct amg_area area;
    struct amg_mapping mapping;
    atomic_bool has_warned;
    struct amg_lock lock;   /* guards all below */
    struct amg_pool nodes;  /* struct range */
    struct amg_list places; /* all ranges, by offset */
    struct amg_list bins[BINS];
    struct amg_map used; /* by offset */
    uint64_t mark;       /* nothing from here on was ever used */
    uint64_t warm_len;   /* approximately: free bytes that still have pages */
};

static unsigned bin_of(uint64_t len)
{
    return 63u - (unsigned)__builtin_clzll(len / LINE_LEN);
}

static void range_show_free(struct amg_class_pool *pool, struct range *range)
{
    range->is_free = true;
    amg_list_push_front(&pool->bins[bin_of(range->len)], &range->bin);
}

static void range_hide(struct range *range)
{
    range->is_free = false;
    amg_list_remove(&range->bin);
}

/* Splits a range: the bytes from `len` on become a range in `node`. */
static struct range *range_cut(
    struct range *range, uint64_t len, struct range *node)
{
    node->offset = range->offset + len;
    node->len = range->len - len;
    range->len = len;
    node->place.next = range->place.next;
    node->place.prev = &range->place;
    range->place.next->prev = &node->place;
    range->place.next = &node->place;
    return node;
}

/* Merges `range` and the free range after it. */
static void range_join(
    struct amg_class_pool *pool, struct range *range, struct range *next)
{
    range->len += next->len;
    amg_list_remove(&next->place);
    amg_pool_put(&pool->nodes, next);
}

/* Frees a range, and merges it with its free neighbours. */
static void range_free_locked(struct amg_class_pool *pool, struct range *range)
{
    struct amg_link *next = amg_list_next(&pool->places, &range->place);
    struct amg_link *prev = range->place.prev;

    if (next != NULL && amg_container_of(next, struct range, place)->is_free) {
        range_hide(amg_container_of(next, struct range, place));
        range_join(pool, range, amg_container_of(next, struct range, place));
    }
    if (prev != &pool->places.head &&
        amg_container_of(prev, struct range, place)->is_free) {
        range_hide(amg_container_of(prev, struct range, place));
        range_join(pool, amg_container_of(prev, struct range, place), range);
        range = amg_container_of(prev, struct range, place);
    }
    range_show_free(pool, range);
}

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) / align * align;
}

static struct range *range_find_locked(
    struct amg_class_pool *pool, uint64_t len, uint64_t align)
{
    for (unsigned bin = bin_of(len); bin < BINS; bin++) {
        struct amg_link *link = amg_list_first(&pool->bins[bin]);

        for (; link != NULL; link = amg_list_next(&pool->bins[bin], link)) {
            struct range *range = amg_container_of(link, struct range, bin);
            uint64_t gap = round_up(range->offset, align) - range->offset;

            if (gap <= range->len && len <= range->len - gap)
                return range;
        }
    }
    return NULL;
}

/* Cuts a used range out of a free range; the nodes are for the remainders. */
static struct range *range_take_locked(struct amg_class_pool *pool,
    struct range *range, uint64_t len, uint64_t align, struct range **nodes)
{
    uint64_t gap = round_up(range->offset, align) - range->offset;

    range_hide(range);
    if (gap > 0) {
        struct range *front = range;

        range = range_cut(front, gap, nodes[0]);
        nodes[0] = NULL;
        range->is_free = false;
        range_show_free(pool, front);
    }
    if (range->len > len) {
        range_show_free(pool, range_cut(range, len, nodes[1]));
        nodes[1] = NULL;
    }
    return range;
}

/* A used range of `len` bytes, or NULL; its first `*ret_dirty_len` bytes were
 * used before. NOTE(not a leaf lock): allocates nodes inside, whose locks are
 * never held while this lock is taken. */
static struct range *range_alloc(struct amg_class_pool *pool, uint64_t len,
    uint64_t align, uint64_t *ret_dirty_len)
{
    struct range *nodes[2];
    struct range *range = NULL;

    amg_lock_lock(&pool->lock);
    nodes[0] = amg_pool_get(&pool->nodes);
    nodes[1] = amg_pool_get(&pool->nodes);
    if (nodes[0] != NULL && nodes[1] != NULL)
        range = range_find_locked(pool, len, align);
    if (range != NULL)
        range = range_take_locked(pool, range, len, align, nodes);
    for (int i = 0; i < 2; i++)
        if (nodes[i] != NULL)
            amg_pool_put(&pool->nodes, nodes[i]);
    if (range != NULL &&
        amg_map_put(&pool->used, range->offset, range) != HG_SUCCESS) {
        range_free_locked(pool, range);
        range = NULL;
    }
    if (range != NULL) {
        uint64_t dirty_len =
            pool->mark > range->offset ? pool->mark - range->offset : 0;

        *ret_dirty_len = dirty_len < len ? dirty_len : len;
        if (pool->mark < range->offset + len)
            pool->mark = range->offset + len;
        pool->warm_len -=
            *ret_dirty_len < pool->warm_len ? *ret_dirty_len : pool->warm_len;
    }
    amg_lock_unlock(&pool->lock);
    return range;
}

/* Zeroes used memory of whole lines; returns the pages of large ranges to the
 * system instead. */
static void range_zero(
    struct amg_class_pool *pool, uint64_t offset, uint64_t len)
{
    uint64_t from = round_up(offset, AMG_PAGE_LEN);
    uint64_t to = (offset + len) / AMG_PAGE_LEN * AMG_PAGE_LEN;
    char *base = pool->area.base;

    if (len < KEEP_LEN ||
        amg_mapping_discard(&pool->mapping, from, to - from) != HG_SUCCESS) {
        memset(base + offset, 0, len);
        return;
    }
    memset(base + offset, 0, from - offset);
    memset(base + to, 0, offset + len - to);
}

static hg_return_t pool_start(struct amg_class_pool *pool)
{
    struct range *all = NULL;

    amg_lock_init(&pool->lock);
    amg_list_init(&pool->places);
    for (unsigned i = 0; i < BINS; i++)
        amg_list_init(&pool->bins[i]);
    amg_pool_init(&pool->nodes, sizeof(struct range), _Alignof(struct range));
    all = amg_pool_get(&pool->nodes);
    if (all == NULL)
        return HG_NOMEM;
    pool->area = (struct amg_area){
        pool->mapping.base, pool->mapping.len, pool->mapping.fd};
    all->offset = 0;
    all->len = pool->area.len;
    amg_list_push(&pool->places, &all->place);
    range_show_free(pool, all);
    return HG_SUCCESS;
}

hg_return_t amg_class_pool_create(
    uint64_t len, struct amg_class_pool **ret_pool)
{
    struct amg_class_pool *pool = NULL;
    struct amg_mapping mapping;
    hg_return_t rc = HG_SUCCESS;

    if (len == 0 || amg_mapping_open("amalgam", len, &mapping) != HG_SUCCESS) {
        *ret_pool = NULL;
        return HG_SUCCESS;
    }
    pool = amg_mem_zalloc(sizeof(*pool));
    if (pool == NULL) {
        rc = HG_NOMEM;
        goto close_mapping;
    }
    pool->mapping = mapping;
    rc = pool_start(pool);
    if (rc != HG_SUCCESS)
        goto free_pool;
    *ret_pool = pool;
    return HG_SUCCESS;

free_pool:
    amg_mem_free(pool);
close_mapping:
    amg_mapping_close(&mapping);
    return rc;
}

void amg_class_pool_destroy(struct amg_class_pool *pool)
{
    struct amg_link *link = NULL;

    if (pool == NULL)
        return;
    while ((link = amg_list_pop(&pool->places)) != NULL)
        amg_pool_put(&pool->nodes, amg_container_of(link, struct range, place));
    amg_pool_fini(&pool->nodes);
    amg_map_fini(&pool->used, NULL);
    amg_mapping_close(&pool->mapping);
    amg_mem_free(pool);
}

const struct amg_area *amg_class_pool_area(const struct amg_class_pool *pool)
{
    return pool == NULL ? NULL : &pool->area;
}

bool amg_class_pool_has(const struct amg_class_pool *pool, const void *ptr)
{
    return pool != NULL && (uintptr_t)ptr >= (uintptr_t)pool->area.base &&
           (uintptr_t)ptr - (uintptr_t)pool->area.base < pool->area.len;
}

static void *heap_alloc(struct amg_class_pool *pool, uint64_t len,
    uint64_t align, enum amg_class_pool_want want)
{
    void *ptr = NULL;

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
    if (want == AMG_CLASS_POOL_ZEROS)
        ptr = amg_mem_zalloc(len);
    else
        ptr = amg_mem_alloc_aligned(align, len);
    return ptr;
}

void *amg_class_pool_alloc(
    struct amg_class_pool *pool, uint64_t len, enum amg_class_pool_want want)
{
    uint64_t align = len < AMG_PAGE_LEN ? LINE_LEN : AMG_PAGE_LEN;
    uint64_t dirty_len = 0;
    struct range *range = NULL;

    if (len == 0)
        len = 1;
    if (pool != NULL && len <= pool->area.len)
        range = range_alloc(pool, round_up(len, align), align, &dirty_len);
    if (range == NULL)
        return heap_alloc(pool, len, align, want);
    if (want == AMG_CLASS_POOL_ZEROS && dirty_len > 0)
        range_zero(pool, range->offset, dirty_len);
    return (char *)pool->area.base + range->offset;
}

void amg_class_pool_free(struct amg_class_pool *pool, void *ptr)
{
    struct range *range = NULL;
    uint64_t offset = 0;
    bool is_cold = false;

    if (!amg_class_pool_has(pool, ptr)) {
        amg_mem_free(ptr);
        return;
    }
    offset = (uint64_t)((char *)ptr - (char *)pool->area.base);
    amg_lock_lock(&pool->lock);
    range = amg_map_remove(&pool->used, offset);
    AMG_ASSERT(range != NULL);
    is_cold =
        range->len >= DISCARD_LEN && pool->warm_len + range->len > KEEP_LEN;
    amg_lock_unlock(&pool->lock);
    /* No other thread can find the range: `used` and bins lack it. */
    if (is_cold)
        is_cold = amg_mapping_discard(&pool->mapping, offset, range->len) ==
                  HG_SUCCESS;
    amg_lock_lock(&pool->lock);
    if (!is_cold)
        pool->warm_len += range->len;
    range_free_locked(pool, range);
    amg_lock_unlock(&pool->lock);
}
