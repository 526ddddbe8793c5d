/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks of memory of one size, allocated and registered in blocks. */
#ifndef MERCURY_MEM_POOL_H
#define MERCURY_MEM_POOL_H

#include "mercury_util_config.h"

struct hg_mem_pool;

/* Registers a new block, for instance with a network; hg_mem_pool_alloc()
 * returns `*handle` with each chunk. Returns HG_UTIL_SUCCESS, or another value
 * on failure. */
typedef int (*hg_mem_pool_register_func_t)(const void *buf, size_t size,
    unsigned long flags, void **handle, void *arg);

/* Deregisters a block. */
typedef int (*hg_mem_pool_deregister_func_t)(void *handle, void *arg);

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a pool of memory, with its first blocks.
 *
 * @param chunk_size       [in]  bytes of a chunk
 * @param chunk_count      [in]  chunks of a block
 * @param block_count      [in]  blocks at first; the pool adds a block whenever
 *                               all chunks are in use
 * @param register_func    [in]  NULL: blocks are not registered
 * @param flags            [in]  passed to register_func
 * @param deregister_func  [in]  may be NULL
 * @param arg              [in]  passed to both functions
 * Owns:      the caller owns the result; hg_mem_pool_destroy() frees it. `arg`
 *            must live until then.
 * Errors:    NULL: a size or count is 0, no memory, or a block was not
 *            registered; nothing is left behind.
 * Threads:   any thread; calls register_func in the calling thread.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC struct hg_mem_pool *hg_mem_pool_create(size_t chunk_size,
    size_t chunk_count, size_t block_count,
    hg_mem_pool_register_func_t register_func, unsigned long flags,
    hg_mem_pool_deregister_func_t deregister_func, void *arg);

/**
 * Destroy a pool of memory and all its blocks.
 *
 * @param hg_mem_pool  [in]  NULL is allowed
 * Owns:      the pool is consumed, and all its chunks.
 * Errors:    none; if a block cannot be deregistered, the log says so.
 * Threads:   one thread, when no other uses the pool or a chunk.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_mem_pool_destroy(struct hg_mem_pool *hg_mem_pool);

/**
 * Allocate a chunk from a pool of memory; if all are in use, the pool adds a
 * block.
 *
 * @param hg_mem_pool  [in]   of hg_mem_pool_create()
 * @param size         [in]   bytes wanted, at most those of a chunk
 * @param mr_handle    [out]  registration of the chunk's block; may be NULL if
 *                            blocks are not registered
 * Owns:      the caller owns the chunk; hg_mem_pool_free() frees it.
 * Errors:    NULL: an argument is NULL, size is too large, no memory, or a new
 *            block cannot be registered.
 * Threads:   any thread; never blocks for long. May call register_func in the
 *            calling thread, with no lock held.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_mem_pool_alloc(
    struct hg_mem_pool *hg_mem_pool, size_t size, void **mr_handle);

/**
 * Return a chunk to its pool of memory.
 *
 * @param hg_mem_pool  [in]  of hg_mem_pool_create()
 * @param mem_ptr      [in]  NULL is allowed
 * @param mr_handle    [in]  of hg_mem_pool_alloc(); not read
 * Owns:      the chunk is consumed.
 * Errors:    none; memory that is no chunk of the pool is logged, and not
 *            freed.
 * Threads:   any thread; never blocks for long.
 * Undefined: the chunk was freed before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_mem_pool_free(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle);

/**
 * Get the offset of a chunk from the start of its registered block, in bytes.
 *
 * @param hg_mem_pool  [in]  of hg_mem_pool_create()
 * @param mem_ptr      [in]  a chunk of hg_mem_pool_alloc()
 * @param mr_handle    [in]  of hg_mem_pool_alloc()
 * Owns:      nothing changes hands.
 * Errors:    0 for memory that is no chunk of the pool; the log says so.
 * Threads:   any thread; never blocks for long.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC size_t hg_mem_pool_chunk_offset(
    struct hg_mem_pool *hg_mem_pool, void *mem_ptr, void *mr_handle);

#ifdef __cplusplus
}
#endif

#endif
