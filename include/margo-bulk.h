/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory, and transfers between bulk handles. */
#ifndef MARGO_BULK_H
#define MARGO_BULK_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Expose memory to other processes.
 *
 * @param mid        [in]   the Margo instance
 * @param count      [in]  number of segments
 * @param buf_ptrs   [in]  NULL: the library allocates memory
 * @param buf_sizes  [in]   bytes of each segment
 * @param flags      [in]  HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY or
 *                          HG_BULK_READWRITE
 * @param handle     [out]  the new bulk handle
 * Owns:      the caller owns the result; margo_bulk_free() frees it. The memory
 *            stays the caller's and must live until then.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            and those of HG_Bulk_create()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_create(margo_instance_id mid, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle);

/**
 * Expose memory to other processes, with attributes.
 *
 * @param mid        [in]   the Margo instance
 * @param count      [in]   as for margo_bulk_create()
 * @param buf_ptrs   [in]   as for margo_bulk_create()
 * @param buf_sizes  [in]   as for margo_bulk_create()
 * @param flags      [in]   as for margo_bulk_create()
 * @param attrs      [in]   as for HG_Bulk_create_attr()
 * @param handle     [out]  the new bulk handle
 * Owns:      the caller owns the result; margo_bulk_free() frees it. The memory
 *            stays the caller's and must live until then.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            and those of HG_Bulk_create_attr()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_create_attr(margo_instance_id mid,
    uint32_t count, void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle);

/**
 * Release a bulk handle; the last release ends the exposure of the memory.
 *
 * @param handle  [in]  the bulk handle; HG_BULK_NULL is allowed
 * Owns:      the reference to the handle is consumed.
 * Errors:    those of HG_Bulk_free().
 * Threads:   any thread; waits for accesses in flight.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_free(hg_bulk_t handle);

/**
 * Take another reference to a bulk handle.
 *
 * @param handle  [in]  a bulk handle of any kind
 * Owns:      the caller owns the new reference; margo_bulk_free() releases it.
 * Errors:    HG_INVALID_ARG handle is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_ref_incr(hg_bulk_t handle);

/**
 * Get the addresses of exposed memory of this process.
 *
 * @param handle        [in]   a bulk handle of memory of this process
 * @param offset        [in]   first byte of the range, counted through all
 *                             segments
 * @param size          [in]   bytes of the range
 * @param flags         [in]   as for HG_Bulk_access()
 * @param max_count     [in]   room in both arrays
 * @param buf_ptrs      [out]  addresses of the segments in the range
 * @param buf_sizes     [out]  bytes of each segment
 * @param actual_count  [out]  number of segments that were written
 * Owns:      the pointers are borrowed from the handle.
 * Errors:    those of HG_Bulk_access().
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count);

/**
 * Get the number of bytes that a bulk handle exposes.
 *
 * @param handle  [in]  a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_size_t margo_bulk_get_size(hg_bulk_t handle);

/**
 * Get the number of segments of a bulk handle.
 *
 * @param handle  [in]  a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC uint32_t margo_bulk_get_segment_count(hg_bulk_t handle);

/**
 * Get the number of bytes that margo_bulk_serialize() writes for a bulk handle.
 *
 * @param handle  [in]  a bulk handle of any process
 * @param flags   [in]  as for HG_Bulk_serialize()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_size_t margo_bulk_get_serialize_size(
    hg_bulk_t handle, uint8_t flags);

/**
 * Serialize a bulk handle.
 *
 * @param buf       [out]  room for the bytes
 * @param buf_size  [in]   bytes of that room; see
 *                         margo_bulk_get_serialize_size()
 * @param flags     [in]   as for HG_Bulk_serialize()
 * @param handle    [in]   a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    those of HG_Bulk_serialize().
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_serialize(
    void *buf, hg_size_t buf_size, uint8_t flags, hg_bulk_t handle);

/**
 * Create a bulk handle from the bytes of margo_bulk_serialize().
 *
 * @param mid       [in]   the Margo instance
 * @param handle    [out]  the new bulk handle
 * @param buf       [in]   the bytes that margo_bulk_serialize() wrote
 * @param buf_size  [in]   number of these bytes
 * Owns:      the caller owns the result; margo_bulk_free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            and those of HG_Bulk_deserialize()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_deserialize(margo_instance_id mid,
    hg_bulk_t *handle, const void *buf, hg_size_t buf_size);

/**
 * Move data between exposed memory of another process and of this one, and wait
 * until the transfer has ended, with a time limit.
 *
 * @param mid            [in]  the Margo instance
 * @param op             [in]  HG_BULK_PULL: from the other process;
 *                             HG_BULK_PUSH: to the other process
 * @param origin_addr    [in]  the process that exposed origin_handle
 * @param origin_handle  [in]  memory of that process
 * @param origin_offset  [in]  first byte there, counted through all segments
 * @param local_handle   [in]  memory of this process
 * @param local_offset   [in]  first byte here, counted through all segments
 * @param size           [in]  number of bytes to move
 * @param timeout_ms     [in]  in milliseconds; 0: no limit
 * Owns:      the memory stays the caller's and must live until the completion.
 * Errors:    HG_INVALID_ARG an argument is NULL, or timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed
 *            HG_PERMISSION  the memory is not exposed for that operation
 *            HG_OVERFLOW    offset and size reach beyond the memory
 *            and those of HG_Bulk_transfer()
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_transfer_timed(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, double timeout_ms);

/**
 * Move data between exposed memory of another process and of this one, and wait
 * until the transfer has ended.
 *
 * As margo_bulk_transfer_timed(), without a limit.
 *
 * @param mid            [in]  the Margo instance
 * @param op             [in]  HG_BULK_PULL or HG_BULK_PUSH
 * @param origin_addr    [in]  the process whose memory `origin_handle` names
 * @param origin_handle  [in]  memory of that process
 * @param origin_offset  [in]  first byte there, counted through all segments
 * @param local_handle   [in]  memory of this process
 * @param local_offset   [in]  first byte here, counted through all segments
 * @param size           [in]  number of bytes to move
 * Owns:      the memory stays the caller's and must live until the completion.
 * Errors:    those of margo_bulk_transfer_timed().
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_bulk_transfer(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size)
{
    return margo_bulk_transfer_timed(mid, op, origin_addr, origin_handle,
        origin_offset, local_handle, local_offset, size, 0);
}

/**
 * Start a transfer between exposed memory of another process and of this one,
 * with a time limit; margo_wait() on the request waits for the end.
 *
 * @param mid            [in]   the Margo instance
 * @param op             [in]  HG_BULK_PULL: from the other process;
 *                             HG_BULK_PUSH: to the other process
 * @param origin_addr    [in]  the process that exposed origin_handle
 * @param origin_handle  [in]   memory of that process
 * @param origin_offset  [in]   first byte there, counted through all segments
 * @param local_handle   [in]   memory of this process
 * @param local_offset   [in]   first byte here, counted through all segments
 * @param size           [in]   number of bytes to move
 * @param timeout_ms     [in]  in milliseconds; 0: no limit
 * @param req            [out]  the request, for margo_wait() or margo_test()
 * Owns:      the memory stays the caller's and must live until the completion.
 *            The caller owns the request; margo_wait() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL, or timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed
 *            HG_PERMISSION  the memory is not exposed for that operation
 *            HG_OVERFLOW    offset and size reach beyond the memory
 *            and those of HG_Bulk_transfer()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_itransfer_timed(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, double timeout_ms, margo_request *req);

/**
 * Start a transfer between exposed memory of another process and of this one;
 * margo_wait() on the request waits for the end.
 *
 * As margo_bulk_itransfer_timed(), without a limit.
 *
 * @param mid            [in]   the Margo instance
 * @param op             [in]   HG_BULK_PULL or HG_BULK_PUSH
 * @param origin_addr    [in]   the process whose memory `origin_handle` names
 * @param origin_handle  [in]   memory of that process
 * @param origin_offset  [in]   first byte there, counted through all segments
 * @param local_handle   [in]   memory of this process
 * @param local_offset   [in]   first byte here, counted through all segments
 * @param size           [in]   number of bytes to move
 * @param req            [out]  the request, for margo_wait() or margo_test()
 * Owns:      the memory stays the caller's and must live until the completion.
 *            The caller owns the request; margo_wait() frees it.
 * Errors:    those of margo_bulk_itransfer_timed().
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_bulk_itransfer(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, margo_request *req)
{
    return margo_bulk_itransfer_timed(mid, op, origin_addr, origin_handle,
        origin_offset, local_handle, local_offset, size, 0, req);
}

/**
 * Start a transfer between exposed memory of another process and of this one,
 * with a time limit, and call a function at its end.
 *
 * @param mid            [in]  the Margo instance
 * @param op             [in]  HG_BULK_PULL: from the other process;
 *                             HG_BULK_PUSH: to the other process
 * @param origin_addr    [in]  the process that exposed origin_handle
 * @param origin_handle  [in]  memory of that process
 * @param origin_offset  [in]  first byte there, counted through all segments
 * @param local_handle   [in]  memory of this process
 * @param local_offset   [in]  first byte here, counted through all segments
 * @param size           [in]  number of bytes to move
 * @param timeout_ms     [in]  in milliseconds; 0: no limit
 * @param on_complete    [in]  called by the progress loop, with `uargs` and the
 *                             result; must not wait
 * @param uargs          [in]  passed to on_complete()
 * Owns:      the memory stays the caller's and must live until the completion.
 *            `uargs` must live until the callback ran.
 * Errors:    HG_INVALID_ARG an argument is NULL, or timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed
 *            HG_PERMISSION  the memory is not exposed for that operation
 *            HG_OVERFLOW    offset and size reach beyond the memory
 *            and those of HG_Bulk_transfer()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_ctransfer_timed(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, double timeout_ms, void (*on_complete)(void *, hg_return_t),
    void *uargs);

/**
 * Start a transfer between exposed memory of another process and of this one,
 * and call a function at its end.
 *
 * As margo_bulk_ctransfer_timed(), without a limit.
 *
 * @param mid            [in]  the Margo instance
 * @param op             [in]  HG_BULK_PULL or HG_BULK_PUSH
 * @param origin_addr    [in]  the process whose memory `origin_handle` names
 * @param origin_handle  [in]  memory of that process
 * @param origin_offset  [in]  first byte there, counted through all segments
 * @param local_handle   [in]  memory of this process
 * @param local_offset   [in]  first byte here, counted through all segments
 * @param size           [in]  number of bytes to move
 * @param on_complete    [in]  called by the progress loop, with `uargs` and the
 *                             result; must not wait
 * @param uargs          [in]  passed to on_complete()
 * Owns:      the memory stays the caller's and must live until the completion.
 *            `uargs` must live until the callback ran.
 * Errors:    those of margo_bulk_ctransfer_timed().
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_bulk_ctransfer(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, void (*on_complete)(void *, hg_return_t), void *uargs)
{
    return margo_bulk_ctransfer_timed(mid, op, origin_addr, origin_handle,
        origin_offset, local_handle, local_offset, size, 0, on_complete, uargs);
}

#ifdef __cplusplus
}
#endif

#endif
