/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data: memory exposed by one process, read or written by another.
 *
 * The origin exposes memory and sends the handle within an RPC; the target, or
 * any process that has the handle, moves data to or from the memory. An offset
 * counts through all segments as if the segments were contiguous. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Access of peers to exposed memory. */
#define HG_BULK_READ_ONLY  (1 << 0)
#define HG_BULK_WRITE_ONLY (1 << 1)
#define HG_BULK_READWRITE  (HG_BULK_READ_ONLY | HG_BULK_WRITE_ONLY)

/* Flags of HG_Bulk_serialize(). HG_BULK_EAGER: the descriptor contains the
 * data, too, if peers may only read the memory. HG_BULK_SM has no effect. */
#define HG_BULK_EAGER (1 << 2)
#define HG_BULK_SM    (1 << 3)

/* Older name of the type of callbacks. */
typedef hg_cb_t hg_bulk_cb_t;

/**
 * Expose memory.
 *
 * @param hg_class   [in]   of HG_Init() or its forms, or amalgam_init()
 * @param count      [in]   number of segments, at least 1
 * @param buf_ptrs   [in]   addresses; NULL: the library allocates the segments
 * @param buf_sizes  [in]   bytes of each segment; 0 is allowed
 * @param flags      [in]   HG_BULK_READ_ONLY, _WRITE_ONLY or _READWRITE
 * @param handle     [out]  the new bulk handle
 * Owns:      the caller owns the result; HG_Bulk_free() frees it. The lists may
 *            be reused when the call returns; the memory stays the caller's and
 *            must live until HG_Bulk_free() succeeded. Memory that the library
 *            allocated is freed with the handle; HG_Bulk_access() returns it.
 *            What a child of fork() writes to that memory stays in the child.
 * Errors:    HG_INVALID_ARG hg_class, buf_sizes or handle is NULL, count is 0,
 *                           flags has unknown bits or is 0, an address is NULL
 *                           while its size is not 0, or the sum of the sizes
 *                           exceeds 64 bits
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_create(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle);

/**
 * Expose memory with attributes: HG_Bulk_create() with options.
 *
 * @param hg_class   [in]   as for HG_Bulk_create()
 * @param count      [in]   as for HG_Bulk_create()
 * @param buf_ptrs   [in]   as for HG_Bulk_create()
 * @param buf_sizes  [in]   as for HG_Bulk_create()
 * @param flags      [in]   as for HG_Bulk_create()
 * @param attrs      [in]   the kind of memory
 * @param handle     [out]  the new bulk handle
 * Owns:      as HG_Bulk_create().
 * Errors:    as HG_Bulk_create(), and
 *            HG_INVALID_ARG   attrs is NULL
 *            HG_OPNOTSUPPORTED the memory is not host memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but host memory only.
 */
HG_PUBLIC hg_return_t HG_Bulk_create_attr(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle);

/**
 * Release a bulk handle; the last release ends the exposure of the memory.
 *
 * No new access begins; accesses in flight end before the function returns. The
 * exposure ends even while a call brings the handle to a peer, whose later
 * transfers end with HG_NOENTRY. So free the handle after the reply, or, for a
 * call without a reply, when the peer has told that its transfers are over.
 *
 * @param handle  [in]  HG_BULK_NULL is allowed
 * Owns:      the caller's reference is consumed on success only.
 * Errors:    HG_BUSY an access of a peer did not end within
 *                    AMALGAM_FREE_TIMEOUT_MS (5 s; the log names the peer); the
 *                    handle stays, closed to new accesses, and the memory must
 *                    stay allocated: call again
 * Threads:   any thread; may wait up to AMALGAM_FREE_TIMEOUT_MS.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but may return HG_BUSY; in Mercury, transfers over
 *            some transports go on after HG_Bulk_free().
 */
HG_PUBLIC hg_return_t HG_Bulk_free(hg_bulk_t handle);

/**
 * Take another reference to a handle, for instance to a handle that is decoded
 * from an input and must outlive HG_Free_input().
 *
 * @param handle  [in]  a bulk handle of any kind
 * Owns:      the caller owns the new reference; HG_Bulk_free() releases it.
 * Errors:    HG_INVALID_ARG handle is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle);

/**
 * Write the address of this process and the context into the handle, so that
 * any process that receives the handle can access the memory.
 *
 * @param handle   [in]  of memory of this process, not yet bound
 * @param context  [in]  of the same class
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL, the memory is another
 *                           process's, the handle is bound, or the handle and
 *                           the context are of different classes
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context);

/**
 * Get the address of a bound handle; HG_ADDR_NULL if the handle is not bound.
 *
 * @param handle  [in]  a bulk handle, bound or not
 * Owns:      the result is borrowed from the handle.
 * Errors:    NULL gives HG_ADDR_NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle);

/**
 * Get the context id of a bound handle; 0 if the handle is not bound.
 *
 * @param handle  [in]  a bulk handle, bound or not
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC uint8_t HG_Bulk_get_context_id(hg_bulk_t handle);

/**
 * Get the local memory of a range of a handle.
 *
 * @param handle        [in]   a bulk handle of memory of this process
 * @param offset        [in]   bytes from the start of the handle
 * @param size          [in]   bytes wanted
 * @param flags         [in]   the intended access; not read
 * @param max_count     [in]   number of elements of the two arrays
 * @param buf_ptrs      [out]  addresses of the pieces of memory; may be NULL
 * @param buf_sizes     [out]  bytes of each piece; may be NULL
 * @param actual_count  [out]  number of pieces; may be NULL
 * Owns:      the pieces are borrowed from the handle.
 * Errors:    HG_INVALID_ARG handle is NULL, the range reaches beyond the end,
 *                           the memory is another process's and the data did
 *                           not come with the handle, or the handle came back
 *                           to this process, which has freed the original
 *            size 0 or max_count 0: HG_SUCCESS, and *actual_count is 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the range is checked.
 */
HG_PUBLIC hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count);

/**
 * Get the total number of bytes of all segments.
 *
 * @param handle  [in]  a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t HG_Bulk_get_size(hg_bulk_t handle);

/**
 * Get the number of segments.
 *
 * @param handle  [in]  a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle);

/**
 * Get the accesses that peers may make: HG_BULK_READ_ONLY, _WRITE_ONLY or
 * _READWRITE.
 *
 * @param handle  [in]  a bulk handle of any process
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC uint8_t HG_Bulk_get_flags(hg_bulk_t handle);

/**
 * Get the number of bytes that HG_Bulk_serialize() would write.
 *
 * @param handle  [in]  a bulk handle of any process
 * @param flags   [in]  as for HG_Bulk_serialize()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; the sizes are ours.
 */
HG_PUBLIC hg_size_t HG_Bulk_get_serialize_size(
    hg_bulk_t handle, unsigned long flags);

/**
 * Serialize a handle, for a program that sends the bytes itself.
 *
 * @param buf       [out]  room for the bytes
 * @param buf_size  [in]  size of `buf` in bytes
 * @param flags     [in]  HG_BULK_EAGER: with the data, if peers may only read
 *                        them; HG_BULK_SM: no effect; 0
 * @param handle    [in]  a bulk handle of any process
 * Owns:      the handle must live until all accesses by the receivers of the
 *            bytes have ended.
 * Errors:    HG_INVALID_ARG buf or handle is NULL
 *            HG_OVERFLOW    buf_size is too small; nothing useful was written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; the bytes are ours.
 */
HG_PUBLIC hg_return_t HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle);

/**
 * Create a handle from the bytes of HG_Bulk_serialize().
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param handle    [out]  the new bulk handle
 * @param buf       [in]   the bytes that HG_Bulk_serialize() wrote
 * @param buf_size  [in]   number of these bytes
 * Owns:      the caller owns the result; HG_Bulk_free() frees it. The bytes may
 *            be reused when the call returns.
 * Errors:    HG_INVALID_ARG    hg_class, handle or buf is NULL
 *            HG_OVERFLOW       the bytes end too early
 *            HG_PROTOCOL_ERROR the bytes describe no handle, or are of another
 *                              version
 *            HG_NOMEM          no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_deserialize(hg_class_t *hg_class,
    hg_bulk_t *handle, const void *buf, hg_size_t buf_size);

#ifdef __cplusplus
}
#endif

#include "mercury_transfer.h"

#endif
