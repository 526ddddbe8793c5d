/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of memory of one size, got and registered by the block.
 *
 * Free chunks of all blocks are on one list, linked through their first word,
 * so taking and giving back is a few instructions. Which block a chunk is of is
 * found by its address; blocks are few. */
#include "mercury_mem_pool.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

/* Chunks begin on a line of the cache: no two share one. */
enum { CHUNK_ALIGN = 64 };

/* Owned by its pool; chunks follow in `chunks`. */
struct block {
    struct amg_link link;
    void *mr_handle;
    char *chunks;
};

/* A chunk while nobody has it. */
struct free_chunk {
    struct free_chunk *next;
};

/* Owned by the program, from create to destroy. */
struct hg_mem_pool {
    size_t chunk_size; /* as asked for */
    size_t step;       /* from one chunk to the next */
    size_t chunk_count;
    hg_mem_pool_register_func_t register_func;
    hg_mem_pool_deregister_func_t deregister_func;
    unsigned long flags;
    void *arg;
    struct amg_lock lock; /* guards all below */
    struct amg_list blocks;
    struct free_chunk *free;
};

static void block_destroy(struct hg_mem_pool *pool, struct block *block)
{
    if (pool->register_func != NULL && pool->deregister_func != NULL &&
        pool->deregister_func(block->mr_handle, pool->arg) != HG_UTIL_SUCCESS)
        AMG_LOG_ERROR("hg_util",
            "a block of %zu bytes could not be deregistered; it is freed "
            "nevertheless",
            pool->step * pool->chunk_count);
    amg_mem_free(block->chunks);
    amg_mem_free(block);
}

/* A block that is registered, but not yet of the pool. */
static struct block *block_create(const struct hg_mem_pool *pool)
{
    size_t len = pool->step * pool->chunk_count;
    struct block *block = amg_mem_zalloc(sizeof(*block));

    if (block == NULL)
        return NULL;
    block->chunks = amg_mem_alloc_aligned(CHUNK_ALIGN, len);
    if (block->chunks == NULL)
        goto free_block;
    if (pool->register_func != NULL &&
        pool->register_func(block->chunks, len, pool->flags, &block->mr_handle,
            pool->arg) != HG_UTIL_SUCCESS) {
        AMG_LOG_ERROR(
            "hg_util", "a block of %zu bytes was not registered", len);
        goto free_chunks;
    }
    return block;

free_chunks:
    amg_mem_free(block->chunks);
free_block:
    amg_mem_free(block);
    return NULL;
}

static void chunk_push_locked(struct hg_mem_pool *pool, void *chunk)
{
    struct free_chunk *kept = chunk;

    kept->next = pool->free;
    pool->free = kept;
}

static int pool_grow(struct hg_mem_pool *pool)
{
    struct block *block = block_create(pool);

    if (block == NULL)
        return HG_UTIL_FAIL;
    amg_lock_take(&pool->lock);
    amg_list_push(&pool->blocks, &block->link);
    for (size_t i = pool->chunk_count; i-- > 0;)
        chunk_push_locked(pool, block->chunks + i * pool->step);
    amg_lock_give(&pool->lock);
    return HG_UTIL_SUCCESS;
}

/* The block that a chunk is of, or NULL. */
static struct block *block_of_locked(
    const struct hg_mem_pool *pool, const void *chunk)
{
    uintptr_t place = (uintptr_t)chunk;
    size_t len = pool->step * pool->chunk_count;

    for (struct amg_link *at = amg_list_first(&pool->blocks); at != NULL;
         at = amg_list_next(&pool->blocks, at)) {
        struct block *block = AMG_OBJECT(at, struct block, link);
        uintptr_t first = (uintptr_t)block->chunks;

        if (place >= first && place - first < len &&
            (place - first) % pool->step == 0)
            return block;
    }
    return NULL;
}

static void stranger_warn(const void *mem_ptr)
{
    AMG_LOG_ERROR("hg_util", "%p is no chunk of the pool", mem_ptr);
}

struct hg_mem_pool *hg_mem_pool_create(size_t chunk_size, size_t chunk_count,
    size_t block_count, hg_mem_pool_register_func_t register_func,
    unsigned long flags, hg_mem_pool_deregister_func_t deregister_func,
    void *arg)
{
    struct hg_mem_pool *pool = NULL;
    size_t step = 0;

    if (!AMG_CONTRACT(chunk_size > 0 && chunk_count > 0 && block_count > 0) ||
        chunk_size > SIZE_MAX - CHUNK_ALIGN)
        return NULL;
    step = (chunk_size + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    if (step > (SIZE_MAX - CHUNK_ALIGN) / chunk_count)
        return NULL;
    pool = amg_mem_zalloc(sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->chunk_size = chunk_size;
    pool->step = step;
    pool->chunk_count = chunk_count;
    pool->register_func = register_func;
    pool->deregister_func = deregister_func;
    pool->flags = flags;
    pool->arg = arg;
    amg_lock_init(&pool->lock);
    amg_list_init(&pool->blocks);
    for (size_t i = 0; i < block_count; i++) {
        if (pool_grow(pool) != HG_UTIL_SUCCESS) {
            hg_mem_pool_destroy(pool);
            return NULL;
        }
    }
    return pool;
}

void hg_mem_pool_destroy(struct hg_mem_pool *hg_mem_pool)
{
    struct amg_link *link = NULL;

    if (hg_mem_pool == NULL)
        return;
    while ((link = amg_list_pop(&hg_mem_pool->blocks)) != NULL)
        block_destroy(hg_mem_pool, AMG_OBJECT(link, struct block, link));
    amg_mem_free(hg_mem_pool);
}

void *hg_mem_pool_alloc(
    struct hg_mem_pool *hg_mem_pool, size_t size, void **mr_handle)
{
    struct free_chunk *chunk = NULL;

    if (!AMG_CONTRACT(hg_mem_pool != NULL) ||
        !AMG_CONTRACT(size <= hg_mem_pool->chunk_size) ||
        !AMG_CONTRACT(mr_handle != NULL || hg_mem_pool->register_func == NULL))
        return NULL;
    /* Others may take what was grown; then it grows once more. */
    for (;;) {
        amg_lock_take(&hg_mem_pool->lock);
        chunk = hg_mem_pool->free;
        if (chunk != NULL) {
            hg_mem_pool->free = chunk->next;
            if (mr_handle != NULL)
                *mr_handle = block_of_locked(hg_mem_pool, chunk)->mr_handle;
        }
        amg_lock_give(&hg_mem_pool->lock);
        if (chunk != NULL)
            return chunk;
        if (pool_grow(hg_mem_pool) != HG_UTIL_SUCCESS)
            return NULL;
    }
}

void hg_mem_pool_free(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle)
{
    struct block *block = NULL;

    (void)mr_handle;
    if (mem_ptr == NULL || !AMG_CONTRACT(hg_mem_pool != NULL))
        return;
    amg_lock_take(&hg_mem_pool->lock);
    block = block_of_locked(hg_mem_pool, mem_ptr);
    if (block != NULL)
        chunk_push_locked(hg_mem_pool, mem_ptr);
    amg_lock_give(&hg_mem_pool->lock);
    if (block == NULL)
        stranger_warn(mem_ptr);
}

size_t hg_mem_pool_chunk_offset(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle)
{
    struct block *block = NULL;

    (void)mr_handle;
    if (!AMG_CONTRACT(hg_mem_pool != NULL))
        return 0;
    amg_lock_take(&hg_mem_pool->lock);
    block = block_of_locked(hg_mem_pool, mem_ptr);
    amg_lock_give(&hg_mem_pool->lock);
    if (block != NULL)
        return (size_t)((char *)mem_ptr - block->chunks);
    stranger_warn(mem_ptr);
    return 0;
}
