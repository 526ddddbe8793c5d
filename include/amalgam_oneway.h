/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls of a few bytes, without handles and procs.
 *
 * For classes of HG_Init() and of amalgam_init(); needs no MPI. A call is a
 * one-way RPC whose input is raw bytes. So origin or target may use HG instead:
 * a handle with HG_Registered_disable_response() and hg_proc_raw(). */
#ifndef AMALGAM_ONEWAY_H
#define AMALGAM_ONEWAY_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest argument of a one-way call without a handle, in bytes. */
#define AMALGAM_ONEWAY_MAX 64

/** Handler of one-way calls. `from_rank` is the rank of the caller in the
 * communicator of the class, or -1 if the caller is no rank; the `len` bytes at
 * `arg` are valid until the handler returns, and aligned to 8 bytes unless
 * HG_Class_set_input_offset() was called. A handler may make calls itself. */
typedef void (*amalgam_oneway_cb_t)(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len);

/**
 * Register a one-way RPC whose handler gets no handle.
 *
 * The handler runs where handlers of other incoming calls run: in HG_Trigger(),
 * or in a thread of the library as struct amalgam_progress_options says. The
 * handler does not run in HG_Progress(), so it may wait and make progress. The
 * handlers for calls from one context to one context of a peer begin in the
 * order of the sends, whatever kind and length the calls have, unless several
 * threads in HG_Trigger() run them in parallel. A call that arrives before its
 * RPC is registered waits for the registration; calls of other RPCs go on.
 * HG_Register_data() and HG_Deregister() apply to the id. A request with this
 * id that wants a reply ends with HG_CANCELED at its origin; a request longer
 * than AMALGAM_ONEWAY_MAX is dropped, and the log says so.
 *
 * @param hg_class   [in]  of HG_Init(), its forms, or amalgam_init()
 * @param func_name  [in]  as for HG_Register_name(), which gives the same id
 * @param handler    [in]  NULL: this process only calls
 * @return the id, or 0
 * Owns:      nothing changes hands.
 * Errors:    0: hg_class or func_name is NULL, or no memory; the log says
 *            which. Another RPC with the same id is replaced, with a warning.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    ours.
 */
HG_PUBLIC hg_id_t amalgam_register_oneway(
    hg_class_t *hg_class, const char *func_name, amalgam_oneway_cb_t handler);

/**
 * Send a one-way call of up to AMALGAM_ONEWAY_MAX bytes.
 *
 * No callback tells when the call left or was handled. The call stays in order
 * with other calls to that address, and amalgam_finalize() waits until the call
 * was handled. A target that is no rank of a job handles the call even after
 * HG_Finalize() here, if the target makes progress and its context is open.
 *
 * The first call to an address after HG_Progress() leaves at once. Later calls
 * of the same RPC before the next HG_Progress() share messages. Such a message
 * leaves when full; before any other call or answer of the context; in
 * HG_Progress() and HG_Trigger(); and before a thread of the library waits. So
 * make progress after the last call of a burst: a target cannot receive that
 * call while this process only computes.
 *
 * With AMALGAM_AGGREGATE=node in the environment of all ranks, calls to ranks
 * of other nodes go through the first rank of the caller's node, and through
 * that of the target's node, where each node has equally many ranks with
 * numbers in a row. So calls to all ranks of a node share messages. These calls
 * leave with the next HG_Progress(), are in order with each other, but not with
 * other calls, and get on while the first ranks make progress; counters count a
 * call at each rank on its way. Handlers of such calls must not wait for other
 * calls.
 *
 * A message without a credit of the address waits for a credit, and
 * HG_Context_destroy() waits for the message. While a message waits and the
 * next message is full, further calls return HG_AGAIN, so that a burst cannot
 * fill the memory: make progress, and call again.
 *
 * @param context  [in]  the context that sends the call
 * @param addr     [in]  of the class; context 0 of that process serves the call
 * @param id       [in]  a one-way RPC: of amalgam_register_oneway(), or with a
 *                       disabled response
 * @param arg      [in]  NULL if `len` is 0
 * @param len      [in]  bytes
 * @return HG_SUCCESS or an error
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG     context or addr is NULL, `addr` is of another
 *                               class, or `arg` is NULL and `len` is not 0
 *            HG_MSGSIZE         `len` exceeds AMALGAM_ONEWAY_MAX, or the room
 *                               after the header of HG_Class_set_input_offset()
 *            HG_NOENTRY         this process has not registered the id, or the
 *                               address has no context 0
 *            HG_OPNOTSUPPORTED  the RPC has a response, or this thread may not
 *                               use the transport
 *            HG_AGAIN           calls to `addr` wait; nothing was sent
 *            HG_HOSTUNREACH     the process is gone; the loss of a call that
 *                               got HG_SUCCESS is only logged
 *            HG_NOMEM           no memory
 *            HG_NA_ERROR        the transport failed
 * Threads:   any thread; never blocks.
 * Undefined: context or address destroyed during the call.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_forward_oneway(hg_context_t *context,
    hg_addr_t addr, hg_id_t id, const void *arg, size_t len);

#ifdef __cplusplus
}
#endif

#endif
