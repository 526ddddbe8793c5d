/* SPDX-License-Identifier: BSD-3-Clause */
/* Long transfers, split into chunks that are in flight at the same time. */
#ifndef MARGO_BULK_UTIL_H
#define MARGO_BULK_UTIL_H

#include <stddef.h>

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Move bytes as margo_bulk_transfer() does, in several chunks at once.
 *
 * Starts all chunks before it waits for the first chunk. All chunks that were
 * started have ended when the function returns.
 *
 * @param mid            [in]  the Margo instance
 * @param op             [in]  HG_BULK_PUSH: to the origin's memory;
 *                             HG_BULK_PULL: from the origin's memory
 * @param origin_addr    [in]  the process that exposed `origin_handle`
 * @param origin_handle  [in]  memory of that process
 * @param origin_offset  [in]  bytes from the start of that handle
 * @param local_handle   [in]  memory of this process
 * @param local_offset   [in]  bytes from the start of that handle
 * @param size           [in]  bytes; may be 0
 * @param chunk_size     [in]  bytes of a chunk; the last chunk may be shorter
 * Owns:      the memory stays the caller's and must live until the return.
 * Errors:    HG_INVALID_PARAM  mid is NULL, or chunk_size is 0 and size is not
 *                              0
 *            HG_NOMEM          no memory
 *            and those of margo_bulk_transfer(): the first error of a chunk;
 *            other chunks may have been moved
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: a handle freed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_bulk_parallel_transfer(margo_instance_id mid,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    size_t origin_offset, hg_bulk_t local_handle, size_t local_offset,
    size_t size, size_t chunk_size);

#ifdef __cplusplus
}
#endif

#endif
