/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of RPCs: blocking, with a request, or with a callback.
 *
 * A call to a provider replaces the provider in the handle's id: the call goes
 * to that provider's RPC of the same name, and the handle keeps the new id. */
#ifndef MARGO_FORWARD_H
#define MARGO_FORWARD_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Call an RPC of a provider, and wait for the answer, with a time limit.
 *
 * Only the calling thread waits. A call that fails at once sends nothing.
 *
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  NULL: there is no input
 * @param timeout_ms   [in]  in milliseconds; 0: no limit
 * Owns:      `in_struct` may be reused when the call returns.
 * Errors:    HG_INVALID_ARG handle is NULL, or one of a received request; or
 *                           timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed; a late answer is dropped
 *            HG_CANCELED    the call was cancelled
 *            HG_NOENTRY     the target does not know the RPC or the provider
 *            HG_PERMISSION  the target's instance is ending
 *            HG_NO_MATCH    there is an input, and the RPC was registered
 *                           without one
 *            HG_OTHER_ERROR the id is not registered any more, the instance
 *                           has ended, or the caller is a callback of the
 *                           progress loop, which must not block
 *            HG_OPNOTSUPPORTED the caller is a tasklet, which cannot wait
 *            and those of HG_Forward()
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_forward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms);

/**
 * Call an RPC, and wait for the answer, with a time limit.
 *
 * As margo_provider_forward_timed(), to the provider of the handle's id.
 *
 * @param handle      [in]  of margo_create(), not in flight
 * @param in_struct   [in]  the input; NULL: there is no input
 * @param timeout_ms  [in]  in milliseconds; 0: no limit
 * Owns:      `in_struct` may be reused when the call returns.
 * Errors:    those of margo_provider_forward_timed().
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_forward_timed(
    hg_handle_t handle, void *in_struct, double timeout_ms)
{
    return margo_provider_forward_timed(
        MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, timeout_ms);
}

/**
 * Call an RPC of a provider, and wait for the answer.
 *
 * As margo_provider_forward_timed(), without a limit.
 *
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  the input; NULL: there is no input
 * Owns:      `in_struct` may be reused when the call returns.
 * Errors:    those of margo_provider_forward_timed().
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_provider_forward(
    uint16_t provider_id, hg_handle_t handle, void *in_struct)
{
    return margo_provider_forward_timed(provider_id, handle, in_struct, 0);
}

/**
 * Call an RPC, and wait for the answer.
 *
 * As margo_provider_forward_timed(), to the provider of the handle's id and
 * without a limit.
 *
 * @param handle     [in]  of margo_create(), not in flight
 * @param in_struct  [in]  the input; NULL: there is no input
 * Owns:      `in_struct` may be reused when the call returns.
 * Errors:    those of margo_provider_forward_timed().
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_forward(hg_handle_t handle, void *in_struct)
{
    return margo_provider_forward_timed(
        MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, 0);
}

/**
 * Start a call of a provider's RPC, with a time limit; margo_wait() on the
 * request waits for the answer.
 *
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]   of margo_create(), not in flight
 * @param in_struct    [in]  NULL: there is no input
 * @param timeout_ms   [in]  in milliseconds; 0: no limit
 * @param req          [out]  the request, for margo_wait() or margo_test()
 * Owns:      `in_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    HG_INVALID_ARG handle or req is NULL; handle is one of a received
 *                           request; timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed; a late answer is dropped
 *            HG_CANCELED    the call was cancelled
 *            HG_NOENTRY     the target does not know the RPC or the provider
 *            HG_PERMISSION  the target's instance is ending
 *            HG_NO_MATCH    there is an input, and the RPC was registered
 *                           without one
 *            HG_OTHER_ERROR the id is not registered any more, or the instance
 *                           has ended
 *            and those of HG_Forward()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_iforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req);

/**
 * Start a call of an RPC, with a time limit; margo_wait() on the request waits
 * for the answer.
 *
 * As margo_provider_iforward_timed(), to the provider of the handle's id.
 *
 * @param handle      [in]   of margo_create(), not in flight
 * @param in_struct   [in]   the input; NULL: there is no input
 * @param timeout_ms  [in]   in milliseconds; 0: no limit
 * @param req         [out]  the request, for margo_wait() or margo_test()
 * Owns:      `in_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    those of margo_provider_iforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_iforward_timed(
    hg_handle_t handle, void *in_struct, double timeout_ms, margo_request *req)
{
    return margo_provider_iforward_timed(
        MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, timeout_ms, req);
}

/**
 * Start a call of a provider's RPC; margo_wait() on the request waits for the
 * answer.
 *
 * As margo_provider_iforward_timed(), without a limit.
 *
 * @param provider_id  [in]   MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]   of margo_create(), not in flight
 * @param in_struct    [in]   the input; NULL: there is no input
 * @param req          [out]  the request, for margo_wait() or margo_test()
 * Owns:      `in_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    those of margo_provider_iforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_provider_iforward(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, margo_request *req)
{
    return margo_provider_iforward_timed(
        provider_id, handle, in_struct, 0, req);
}

/**
 * Start a call of an RPC; margo_wait() on the request waits for the answer.
 *
 * As margo_provider_iforward_timed(), to the provider of the handle's id and
 * without a limit.
 *
 * @param handle     [in]   of margo_create(), not in flight
 * @param in_struct  [in]   the input; NULL: there is no input
 * @param req        [out]  the request, for margo_wait() or margo_test()
 * Owns:      `in_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    those of margo_provider_iforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_iforward(
    hg_handle_t handle, void *in_struct, margo_request *req)
{
    return margo_provider_iforward_timed(
        MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, 0, req);
}

/**
 * Start a call of a provider's RPC, with a time limit, and call a function when
 * the answer has arrived.
 *
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  NULL: there is no input
 * @param timeout_ms   [in]  in milliseconds; 0: no limit
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `in_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    HG_INVALID_ARG handle or on_complete is NULL; handle is one of a
 *                           received request; timeout_ms is negative
 *            HG_TIMEOUT     the time limit has passed; a late answer is dropped
 *            HG_CANCELED    the call was cancelled
 *            HG_NOENTRY     the target does not know the RPC or the provider
 *            HG_PERMISSION  the target's instance is ending
 *            HG_NO_MATCH    there is an input, and the RPC was registered
 *                           without one
 *            HG_OTHER_ERROR the id is not registered any more, or the instance
 *                           has ended
 *            and those of HG_Forward()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_cforward_timed(uint16_t provider_id,
    hg_handle_t handle, void *in_struct, double timeout_ms,
    void (*on_complete)(void *, hg_return_t), void *uargs);

/**
 * Start a call of an RPC, with a time limit, and call a function when the
 * answer has arrived.
 *
 * As margo_provider_cforward_timed(), to the provider of the handle's id.
 *
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  the input; NULL: there is no input
 * @param timeout_ms   [in]  in milliseconds; 0: no limit
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `in_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    those of margo_provider_cforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_cforward_timed(hg_handle_t handle,
    void *in_struct, double timeout_ms,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    return margo_provider_cforward_timed(MARGO_DEFAULT_PROVIDER_ID, handle,
        in_struct, timeout_ms, on_complete, uargs);
}

/**
 * Start a call of a provider's RPC, and call a function when the answer has
 * arrived.
 *
 * As margo_provider_cforward_timed(), without a limit.
 *
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: provider of the handle
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  the input; NULL: there is no input
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `in_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    those of margo_provider_cforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_provider_cforward(uint16_t provider_id,
    hg_handle_t handle, void *in_struct,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    return margo_provider_cforward_timed(
        provider_id, handle, in_struct, 0, on_complete, uargs);
}

/**
 * Start a call of an RPC, and call a function when the answer has arrived.
 *
 * As margo_provider_cforward_timed(), to the provider of the handle's id and
 * without a limit.
 *
 * @param handle       [in]  of margo_create(), not in flight
 * @param in_struct    [in]  the input; NULL: there is no input
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `in_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    those of margo_provider_cforward_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_cforward(hg_handle_t handle, void *in_struct,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    return margo_provider_cforward_timed(
        MARGO_DEFAULT_PROVIDER_ID, handle, in_struct, 0, on_complete, uargs);
}

#ifdef __cplusplus
}
#endif

#endif
