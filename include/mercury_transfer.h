/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers between two bulk handles. mercury_bulk.h includes this header. */
#ifndef MERCURY_TRANSFER_H
#define MERCURY_TRANSFER_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Move bytes between exposed memory of `origin_addr` and local memory.
 *
 * Returns at once; the callback runs in a later HG_Trigger(), when the bytes
 * are in place. Size 0 is allowed; the callback runs then, too.
 *
 * @param context        [in]   of HG_Context_create() or HG_Context_create_id()
 * @param callback       [in]   run in HG_Trigger() of the context when the
 *                              transfer has ended
 * @param arg            [in]   passed to the callback
 * @param op             [in]   HG_BULK_PUSH: to the origin's memory;
 *                              HG_BULK_PULL: from it
 * @param origin_addr    [in]   the process that exposed `origin_handle`
 * @param origin_handle  [in]   not bound
 * @param origin_offset  [in]   bytes from the start of that handle
 * @param local_handle   [in]   of memory of this process
 * @param local_offset   [in]   bytes from the start of that handle
 * @param size           [in]   bytes
 * @param op_id          [out]  for HG_Bulk_cancel(); or HG_OP_ID_IGNORE
 * Owns:      `arg` must live until the callback ran. The operation takes
 *            references to handles and address. The local memory stays the
 *            caller's and must live until the completion. `*op_id` is valid
 *            until the callback returned.
 * Errors:    HG_INVALID_ARG an object is NULL, the objects are of different
 *                           classes, the origin handle is bound, the local
 *                           memory is another process's, or a range reaches
 *                           beyond its handle
 *            HG_PERMISSION  the flags of a handle forbid the transfer: a pull
 *                           needs a readable origin and a writable local handle
 *            HG_NOMEM       no memory
 *            HG_OPNOTSUPPORTED the origin handle has no key for the transport
 *            No callback follows an error. The callback gets HG_SUCCESS,
 *            HG_CANCELED, HG_NOENTRY (the origin has freed the handle),
 *            HG_PERMISSION, HG_OVERFLOW (the descriptor is wrong),
 *            HG_OPNOTSUPPORTED (this thread may not use the transport),
 *            HG_HOSTUNREACH, HG_NA_ERROR; after an error, bytes may have moved.
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_transfer(hg_context_t *context, hg_cb_t callback,
    void *arg, hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/**
 * Move bytes between the memory of a bound handle and local memory; any process
 * may have sent the handle to the caller.
 *
 * @param context        [in]   as for HG_Bulk_transfer()
 * @param callback       [in]   run in HG_Trigger() of the context when the
 *                              transfer has ended
 * @param arg            [in]   passed to the callback
 * @param op             [in]   as for HG_Bulk_transfer()
 * @param origin_handle  [in]   bound
 * @param origin_offset  [in]   first byte there, counted through all segments
 * @param local_handle   [in]   memory of this process
 * @param local_offset   [in]   first byte here, counted through all segments
 * @param size           [in]   number of bytes to move
 * @param op_id          [out]  names the transfer for HG_Bulk_cancel();
 *                              HG_OP_ID_IGNORE is allowed
 * Owns:      as HG_Bulk_transfer().
 * Errors:    as HG_Bulk_transfer(), and
 *            HG_INVALID_ARG the origin handle is not bound
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_bind_transfer(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/**
 * Move bytes as HG_Bulk_transfer() does, with a given context of the origin.
 *
 * @param context        [in]   as for HG_Bulk_transfer()
 * @param callback       [in]   run in HG_Trigger() of the context when the
 *                              transfer has ended
 * @param arg            [in]   passed to the callback
 * @param op             [in]   as for HG_Bulk_transfer()
 * @param origin_addr    [in]   the process whose memory `origin_handle` names
 * @param origin_id      [in]   the context whose progress serves the access
 * @param origin_handle  [in]   memory of that process
 * @param origin_offset  [in]   first byte there, counted through all segments
 * @param local_handle   [in]   memory of this process
 * @param local_offset   [in]   first byte here, counted through all segments
 * @param size           [in]   number of bytes to move
 * @param op_id          [out]  names the transfer for HG_Bulk_cancel();
 *                              HG_OP_ID_IGNORE is allowed
 * Owns:      as HG_Bulk_transfer().
 * Errors:    as HG_Bulk_transfer().
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Bulk_transfer_id(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_addr_t origin_addr,
    uint8_t origin_id, hg_bulk_t origin_handle, hg_size_t origin_offset,
    hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
    hg_op_id_t *op_id);

/**
 * Request the early end of a transfer.
 *
 * The callback still runs, once: with HG_CANCELED or with the result that came
 * first. The call has no effect on an ended transfer: ids are never reused.
 *
 * @param op_id  [in]  of the transfer, as HG_Bulk_transfer() returned it
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG op_id is HG_OP_ID_NULL
 * Threads:   any thread; never blocks.
 * Undefined: an id that no transfer gave.
 * Source:    as Mercury 2.4, but safe after the callback.
 */
HG_PUBLIC hg_return_t HG_Bulk_cancel(hg_op_id_t op_id);

#ifdef __cplusplus
}
#endif

#endif
