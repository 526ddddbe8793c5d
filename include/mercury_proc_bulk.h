/* SPDX-License-Identifier: BSD-3-Clause */
/* The proc for bulk handles. */
#ifndef MERCURY_PROC_BULK_H
#define MERCURY_PROC_BULK_H

#include "mercury_bulk.h"
#include "mercury_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Code a bulk handle.
 *
 * If peers may only read the memory, and the data fit into the message, the
 * data are sent with the handle; a later pull of the data is a local copy.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `hg_bulk_t *`; the handle may be HG_BULK_NULL
 * Owns:      HG_DECODE creates a handle, and HG_FREE releases a reference; to
 *            keep the handle, call HG_Bulk_ref_incr() before.
 * Errors:    HG_OVERFLOW       the bytes end too early
 *            HG_PROTOCOL_ERROR the bytes describe no handle
 *            HG_NOMEM          no memory
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4; the bytes are ours.
 */
HG_PUBLIC hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void *data);

#ifdef __cplusplus
}
#endif

#endif
