/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote procedure calls: send, answer and cancel them.
 *
 * The main header for programs. It includes:
 *
 *   mercury_class.h     classes: open and close; version and log
 *   mercury_context.h   contexts: progress and trigger
 *   mercury_register.h  registration of RPCs
 *   mercury_address.h   addresses of processes
 *   mercury_handle.h    handle and arguments of a call
 */
#ifndef MERCURY_H
#define MERCURY_H

#include <stdio.h>

#include "mercury_address.h"
#include "mercury_class.h"
#include "mercury_context.h"
#include "mercury_handle.h"
#include "mercury_register.h"
#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Send a request and return at once.
 *
 * The input is encoded before the call returns. All else needs a thread that
 * makes progress: HG_Progress(). HG_Trigger() runs the callback when the reply
 * has arrived, a one-way request has left, or the call has failed. A call to a
 * peer with AMALGAM_CREDITS unanswered calls waits at the origin, in order.
 *
 * @param handle     [in]  with address and id, and not in flight
 * @param callback   [in]  may be NULL
 * @param arg        [in]  passed to the callback
 * @param in_struct  [in]  NULL: no input is encoded
 * Owns:      `in_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran. Memory of bulk handles in `in_struct`
 *            stays the caller's and must live until the target no longer
 *            accesses it.
 * Errors:    HG_INVALID_ARG   handle is NULL or has no address
 *            HG_FAULT         the handle has no id
 *            HG_BUSY          the handle is in flight
 *            HG_OVERFLOW      the input does not fit into one message, and the
 *                             class was opened with `no_overflow`
 *            HG_NOMEM         no memory
 *            HG_OPNOTSUPPORTED this thread may not use the transport
 *            and the errors of the proc; no callback follows an error, but the
 *            output of the handle's last call is freed. The callback gets
 *            HG_SUCCESS, HG_CANCELED, HG_NOENTRY (the target does not know the
 *            RPC, or has no such context), HG_OPNOTSUPPORTED (the target does
 *            not listen), HG_INVALID_ARG (the target has no callback for the
 *            RPC), HG_HOSTUNREACH, HG_NA_ERROR, HG_PROTOCOL_ERROR.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Forward(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct);

/**
 * Send the answer to a request and return at once.
 *
 * An answer too long for one message counts as sent when its origin has pulled
 * it. Until then the library probes the origin, after a second and then at
 * growing intervals. If the transport reports that the origin has ended, the
 * callback gets HG_HOSTUNREACH; if the origin's context has ended, HG_CANCELED.
 *
 * @param handle      [in]  as the RPC's callback received it; not answered yet;
 *                          the program may have destroyed it
 * @param callback    [in]  runs when the answer was sent; may be NULL
 * @param arg         [in]  passed to the callback
 * @param out_struct  [in]  NULL: no output is encoded
 * Owns:      `out_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran. The caller still destroys the handle.
 * Errors:    HG_INVALID_ARG   handle is NULL, or this process is the origin
 *            HG_BUSY          the request was answered before
 *            HG_CANCELED      the handle was destroyed, and the library has
 *                             cancelled the request
 *            HG_OPNOTSUPPORTED the RPC is one-way, or this thread may not use
 *                             the transport
 *            HG_OVERFLOW      the output does not fit into one message, and the
 *                             class was opened with `no_overflow`
 *            HG_NOMEM         no memory
 *            and the errors of the proc; no callback follows an error, and the
 *            program still has to answer the request.
 * Threads:   any thread, also long after the RPC's callback returned; one at a
 *            time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Respond(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct);

/**
 * Request the early end of a call at its origin, or of an answer at its target.
 *
 * The callback still runs, once: with HG_CANCELED, or with the result that came
 * first. A reply that arrives later is dropped. A call that has ended is not
 * affected. The cancelled operation needs progress like any other. The target
 * is not informed: it serves the call, which counts as unanswered
 * (AMALGAM_CREDITS) until the reply has arrived. At the target, HG_Cancel()
 * ends the wait for an origin that does not pull a long answer; HG_Cancel()
 * does not affect a call that is not answered yet.
 *
 * @param handle  [in]  the call at its origin, or the answered request at its
 *                      target
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG   handle is NULL
 *            HG_OPNOTSUPPORTED this process calls itself
 * Threads:   any thread, once HG_Forward() has returned; never blocks.
 * Undefined: handle destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif
