/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of exposed buffers for repeated use.
 *
 * A pool has a number of buffers of one size. A poolset has several pools, each
 * with larger buffers than the pool before, by a constant factor. Each buffer
 * is a bulk handle; margo_bulk_access() returns its memory. */
#ifndef MARGO_BULK_POOL_H
#define MARGO_BULK_POOL_H

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct margo_bulk_pool *margo_bulk_pool_t;
#define MARGO_BULK_POOL_NULL ((margo_bulk_pool_t)NULL)

typedef struct margo_bulk_poolset *margo_bulk_poolset_t;
#define MARGO_BULK_POOLSET_NULL ((margo_bulk_poolset_t)NULL)

/**
 * Create a pool of exposed buffers.
 *
 * @param mid    [in]   the Margo instance
 * @param count  [in]   buffers, at least 1
 * @param size   [in]   bytes of each, at least 1
 * @param flag   [in]   as for margo_bulk_create(): HG_BULK_READWRITE ...
 * @param pool   [out]  the new pool
 * Owns:      the caller owns the result; margo_bulk_pool_destroy() frees it,
 *            before the instance ends.
 * Errors:    HG_INVALID_ARG    mid or pool is NULL, count or size is 0, or
 *                              `count` buffers exceed PTRDIFF_MAX bytes
 *            HG_NOMEM_ERROR    no memory
 *            HG_OTHER_ERROR    the buffers cannot be exposed; the log says why
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_pool_create(margo_instance_id mid,
    hg_size_t count, hg_size_t size, hg_uint8_t flag, margo_bulk_pool_t *pool);

/**
 * Destroy a pool and its buffers.
 *
 * @param pool  [in]  of margo_bulk_pool_create()
 * Owns:      the pool is consumed, if no error is returned.
 * Errors:    -1  pool is NULL or destroyed, or buffers are in use; the log
 *                says how many
 * Threads:   any thread; never blocks.
 * Undefined: the pool used during the call.
 * Source:    as Margo 0.24, but refused while buffers are in use.
 */
HG_PUBLIC int margo_bulk_pool_destroy(margo_bulk_pool_t pool);

/**
 * Get a buffer; wait for a buffer if all buffers are in use.
 *
 * Waiters get buffers in order of arrival.
 *
 * @param pool  [in]   of margo_bulk_pool_create()
 * @param bulk  [out]  exposed memory of the size of the pool's buffers
 * Owns:      the result is borrowed from the pool; margo_bulk_pool_release()
 *            returns it.
 * Errors:    -1 an argument is NULL or destroyed; or no buffer is free, and the
 *               caller is a tasklet, which cannot wait
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: pool destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_pool_get(margo_bulk_pool_t pool, hg_bulk_t *bulk);

/**
 * Get a buffer, if a buffer is free now.
 *
 * @param pool  [in]   of margo_bulk_pool_create()
 * @param bulk  [out]  HG_BULK_NULL: all buffers are in use
 * Owns:      the result is borrowed from the pool; margo_bulk_pool_release()
 *            returns it.
 * Errors:    -1 an argument is NULL or destroyed
 * Threads:   any thread; never blocks.
 * Undefined: pool destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_pool_tryget(margo_bulk_pool_t pool, hg_bulk_t *bulk);

/**
 * Release a buffer.
 *
 * @param pool  [in]  the pool of the buffer
 * @param bulk  [in]  the buffer, as margo_bulk_pool_get() returned it
 * Owns:      the buffer is consumed, if no error is returned.
 * Errors:    -1 an argument is NULL, or `bulk` is no buffer in use of the pool
 * Threads:   any thread; never blocks.
 * Undefined: pool destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_pool_release(margo_bulk_pool_t pool, hg_bulk_t bulk);

/**
 * Create a set of pools with growing buffer sizes.
 *
 * The first pool has buffers of `first_size` bytes; the buffers of each further
 * pool are `size_multiple` times as large as those of the pool before.
 *
 * @param mid            [in]   the Margo instance
 * @param npools         [in]   at least 1
 * @param nbufs          [in]   buffers of each pool, at least 1
 * @param first_size     [in]   bytes, at least 1
 * @param size_multiple  [in]   at least 2
 * @param flag           [in]   as for margo_bulk_create()
 * @param poolset        [out]  the new poolset
 * Owns:      the caller owns the result; margo_bulk_poolset_destroy() frees it,
 *            before the instance ends.
 * Errors:    HG_INVALID_ARG    an argument is NULL or too small, or the last
 *                              size is too large
 *            HG_NOMEM_ERROR    no memory
 *            HG_OTHER_ERROR    the buffers cannot be exposed; the log says why
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_poolset_create(margo_instance_id mid,
    hg_size_t npools, hg_size_t nbufs, hg_size_t first_size,
    hg_size_t size_multiple, hg_uint8_t flag, margo_bulk_poolset_t *poolset);

/**
 * Destroy a poolset, its pools and their buffers.
 *
 * @param poolset  [in]  of margo_bulk_poolset_create()
 * Owns:      the poolset is consumed, if no error is returned.
 * Errors:    -1 poolset is NULL or destroyed, or buffers are in use: then the
 *               log says how many, and nothing is destroyed
 * Threads:   any thread; never blocks.
 * Undefined: the poolset used during the call.
 * Source:    as Margo 0.24, but refused while buffers are in use.
 */
HG_PUBLIC int margo_bulk_poolset_destroy(margo_bulk_poolset_t poolset);

/**
 * Get the size of the largest buffers of a poolset.
 *
 * @param poolset  [in]   of margo_bulk_poolset_create()
 * @param max      [out]  bytes
 * Owns:      nothing changes hands.
 * Errors:    none: where an argument is NULL, nothing is written.
 * Threads:   any thread; never blocks.
 * Undefined: poolset destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_bulk_poolset_get_max(
    margo_bulk_poolset_t poolset, hg_size_t *max);

/**
 * Get a buffer of the smallest size that has room for `size` bytes; wait if all
 * buffers of that size are in use.
 *
 * @param poolset  [in]   of margo_bulk_poolset_create()
 * @param size     [in]   bytes
 * @param bulk     [out]  may have more than `size` bytes
 * Owns:      the result is borrowed from the poolset;
 *            margo_bulk_poolset_release() returns it.
 * Errors:    -1 an argument is NULL or destroyed; no buffers are so large; or
 *               no buffer is free, and the caller is a tasklet
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: poolset destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_poolset_get(
    margo_bulk_poolset_t poolset, hg_size_t size, hg_bulk_t *bulk);

/**
 * Get a buffer that has room for `size` bytes, if such a buffer is free now.
 *
 * @param poolset   [in]   of margo_bulk_poolset_create()
 * @param size      [in]   bytes
 * @param any_flag  [in]   true: get a larger buffer if all buffers of the
 *                         smallest fitting size are in use
 * @param bulk      [out]  HG_BULK_NULL: no such buffer is free
 * Owns:      the result is borrowed from the poolset;
 *            margo_bulk_poolset_release() returns it.
 * Errors:    -1 an argument is NULL or destroyed, or no buffers are so large
 * Threads:   any thread; never blocks.
 * Undefined: poolset destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_poolset_tryget(margo_bulk_poolset_t poolset,
    hg_size_t size, hg_bool_t any_flag, hg_bulk_t *bulk);

/**
 * Release a buffer.
 *
 * @param poolset  [in]  the poolset of the buffer
 * @param bulk     [in]  the buffer, as margo_bulk_poolset_get() returned it
 * Owns:      the buffer is consumed, if no error is returned.
 * Errors:    -1 an argument is NULL, or `bulk` is no buffer in use of the set
 * Threads:   any thread; never blocks.
 * Undefined: poolset destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_bulk_poolset_release(
    margo_bulk_poolset_t poolset, hg_bulk_t bulk);

#ifdef __cplusplus
}
#endif

#endif
