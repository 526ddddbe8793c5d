/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote procedure calls: send, answer and cancel them.
 *
 * The only header that programs need to include; it includes:
 *
 *   mercury_class.h     open and close; version and log
 *   mercury_context.h   progress and trigger
 *   mercury_register.h  which RPCs there are
 *   mercury_address.h   whom to call
 *   mercury_handle.h    one call's handle and arguments
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
 * The input is encoded before the return. The callback runs in a later
 * HG_Trigger(): when the reply is here, when a one-way request has left, or
 * when the call failed. A call beyond the number of unanswered ones that its
 * peer may have (AMALGAM_CREDITS) waits here and is sent in its turn.
 *
 * @param handle     [in]  with address and id, and not in flight
 * @param callback   [in]  may be NULL
 * @param arg        [in]
 * @param in_struct  [in]  NULL: no input is encoded
 * Owns:      `in_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran. Memory that bulk handles in it name stays
 *            the caller's and must live until the target has done with it.
 * Errors:    HG_INVALID_ARG   handle is NULL or has no address
 *            HG_FAULT         the handle has no id
 *            HG_BUSY          the handle is in flight
 *            HG_OVERFLOW      the input fits in no message, and options forbid
 *                             the other way
 *            HG_NOMEM         no memory
 *            HG_OPNOTSUPPORTED this thread may not use the transport
 *            and what the proc returns; no callback follows an error. The
 *            output of the handle's last call is freed all the same. The
 *            callback gets HG_SUCCESS, HG_CANCELED, HG_NOENTRY (the target does
 *            not know the RPC, or has no such context),
 *            HG_OPNOTSUPPORTED (it does not listen), HG_INVALID_ARG (it has no
 *            callback for it), HG_HOSTUNREACH, HG_NA_ERROR, HG_PROTOCOL_ERROR.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Forward(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct);

/**
 * Send the answer to a request and return at once.
 *
 * An answer too long for one message has left when its origin has pulled it.
 * The callback gets HG_HOSTUNREACH when the origin has ended before that, and
 * HG_CANCELED when its context has; where the transport detects it, which is
 * asked for after a second, and then less often.
 *
 * @param handle      [in]  as the RPC's callback got it; not answered before,
 *                          maybe destroyed
 * @param callback    [in]  runs when the answer has left; may be NULL
 * @param arg         [in]
 * @param out_struct  [in]  NULL: no output is encoded
 * Owns:      `out_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran. The handle is still to be destroyed.
 * Errors:    HG_INVALID_ARG   handle is NULL, or this is the origin
 *            HG_BUSY          it was answered before
 *            HG_CANCELED      it was destroyed, and is being given up
 *            HG_OPNOTSUPPORTED the RPC is one-way, or this thread may not use
 *                             the transport
 *            HG_OVERFLOW      the output fits in no message, and options forbid
 *                             the other way
 *            HG_NOMEM         no memory
 *            and what the proc returns; no callback follows an error, and the
 *            request is still to be answered.
 * Threads:   any thread, also long after the RPC's callback returned; one at a
 *            time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Respond(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct);

/**
 * Request the early end of a call; or, at its target, an answer.
 *
 * The callback still runs, once: with HG_CANCELED, or with the result that came
 * first. A reply that comes later is dropped. Has no effect on a call that has
 * ended, and needs progress like any other. The target is not asked: it serves
 * the call, which until its answer came counts among those that this process
 * may have open at it (AMALGAM_CREDITS). At the target it ends the wait for an
 * origin that does not pull a long answer; a call that is not answered yet is
 * not touched.
 *
 * @param handle  [in]
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG   handle is NULL
 *            HG_OPNOTSUPPORTED the target is this process, and so is the origin
 * Threads:   any thread, once HG_Forward() has returned; never blocks.
 * Undefined: handle destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

#ifdef __cplusplus
}
#endif

#endif
