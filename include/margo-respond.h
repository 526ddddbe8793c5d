/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to requests of origins, and waits for started operations. */
#ifndef MARGO_RESPOND_H
#define MARGO_RESPOND_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Answer a request, and wait until the answer was sent, with a time limit.
 *
 * @param handle      [in]  of a request, as its handler received it; not
 *                          answered yet
 * @param out_struct  [in]  NULL: there is no output
 * @param timeout_ms  [in]  in milliseconds; 0: no limit
 * Owns:      `out_struct` may be reused when the call returns.
 * Errors:    HG_INVALID_ARG    handle is NULL, or is one of margo_create(); or
 *                              timeout_ms is negative
 *            HG_TIMEOUT        the time limit has passed
 *            HG_OPNOTSUPPORTED the RPC is one-way, or a tasklet would wait
 *            HG_NO_MATCH       there is an output, and the RPC was registered
 *                              without one
 *            HG_OTHER_ERROR    the instance has ended, or the caller is a
 *                              callback of the progress loop and would wait
 *            and those of HG_Respond()
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_respond_timed(
    hg_handle_t handle, void *out_struct, double timeout_ms);

/**
 * Answer a request, and wait until the answer was sent.
 *
 * As margo_respond_timed(), without a limit.
 *
 * @param handle      [in]  of a request, as its handler received it; not
 *                          answered yet
 * @param out_struct  [in]  the output; NULL: there is no output
 * Owns:      `out_struct` may be reused when the call returns.
 * Errors:    those of margo_respond_timed().
 * Threads:   any thread, one at a time per handle; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_respond(hg_handle_t handle, void *out_struct)
{
    return margo_respond_timed(handle, out_struct, 0);
}

/**
 * Start the answer to a request, with a time limit; margo_wait() waits until
 * the answer was sent.
 *
 * @param handle      [in]   of a request, as its handler received it; not
 *                           answered yet
 * @param out_struct  [in]  NULL: there is no output
 * @param timeout_ms  [in]  in milliseconds; 0: no limit
 * @param req         [out]  the request, for margo_wait() or margo_test()
 * Owns:      `out_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    HG_INVALID_ARG    handle or req is NULL, or handle is one of
 *                              margo_create(); or timeout_ms is negative
 *            HG_TIMEOUT        the time limit has passed
 *            HG_OPNOTSUPPORTED the RPC is one-way
 *            HG_NO_MATCH       there is an output, and the RPC was registered
 *                              without one
 *            HG_OTHER_ERROR    the instance has ended
 *            and those of HG_Respond()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_irespond_timed(hg_handle_t handle, void *out_struct,
    double timeout_ms, margo_request *req);

/**
 * Start the answer to a request; margo_wait() waits until the answer was sent.
 *
 * As margo_irespond_timed(), without a limit.
 *
 * @param handle      [in]   of a request, as its handler received it; not
 *                           answered yet
 * @param out_struct  [in]   the output; NULL: there is no output
 * @param req         [out]  the request, for margo_wait() or margo_test()
 * Owns:      `out_struct` may be reused when the call returns; the caller owns
 *            the request; margo_wait() frees it.
 * Errors:    those of margo_irespond_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_irespond(
    hg_handle_t handle, void *out_struct, margo_request *req)
{
    return margo_irespond_timed(handle, out_struct, 0, req);
}

/**
 * Start the answer to a request, with a time limit, and call a function when
 * the answer was sent.
 *
 * @param handle       [in]  of a request, as its handler received it; not
 *                           answered yet
 * @param out_struct   [in]  NULL: there is no output
 * @param timeout_ms   [in]  in milliseconds; 0: no limit
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `out_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    HG_INVALID_ARG    handle or on_complete is NULL, or handle is one
 *                              of margo_create(); or timeout_ms is negative
 *            HG_TIMEOUT        the time limit has passed
 *            HG_OPNOTSUPPORTED the RPC is one-way
 *            HG_NO_MATCH       there is an output, and the RPC was registered
 *                              without one
 *            HG_OTHER_ERROR    the instance has ended
 *            and those of HG_Respond()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_crespond_timed(hg_handle_t handle, void *out_struct,
    double timeout_ms, void (*on_complete)(void *, hg_return_t), void *uargs);

/**
 * Start the answer to a request, and call a function when the answer was sent.
 *
 * As margo_crespond_timed(), without a limit.
 *
 * @param handle       [in]  of a request, as its handler received it; not
 *                           answered yet
 * @param out_struct   [in]  the output; NULL: there is no output
 * @param on_complete  [in]  called by the progress loop, with `uargs` and the
 *                           result; must not wait
 * @param uargs        [in]  passed to on_complete()
 * Owns:      `out_struct` may be reused when the call returns; `uargs` must
 *            live until the callback ran.
 * Errors:    those of margo_crespond_timed().
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_return_t margo_crespond(hg_handle_t handle, void *out_struct,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    return margo_crespond_timed(handle, out_struct, 0, on_complete, uargs);
}

/**
 * Wait until an operation has ended.
 *
 * @param req  [in]  of a call, answer or transfer that was started
 * Owns:      the request is consumed.
 * Errors:    HG_INVALID_ARG req is NULL, another thread waits for req, or req
 *                           was waited for before (noticed only until another
 *                           operation uses the memory of req)
 *            HG_OTHER_ERROR the operation has not ended, and the caller is a
 *                           callback of the progress loop; req stays valid
 *            HG_OPNOTSUPPORTED the operation has not ended, and the caller is a
 *                           tasklet, which cannot wait; req stays valid
 *            and the result of the operation
 * Threads:   any thread, one at a time per request; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_wait(margo_request req);

/**
 * Wait until one of several operations has ended.
 *
 * Entries that are MARGO_REQUEST_NULL are skipped. If a request occurs in
 * several entries, only the first of them counts; the others may become
 * MARGO_REQUEST_NULL, even if another request ends first.
 *
 * @param count  [in]  number of requests
 * @param req    [in,out]  the request that ended becomes MARGO_REQUEST_NULL
 * @param index  [out]  index of that request; `count`: all are null requests
 * Owns:      the request that has ended is consumed.
 * Errors:    HG_INVALID_ARG index is NULL; req is NULL, but count is not 0;
 *                           another thread waits for a request; or a request
 *                           was waited for before (noticed only until another
 *                           operation uses its memory)
 *            HG_OTHER_ERROR no operation has ended; the caller is a callback of
 *                           the progress loop, which would wait for itself
 *            HG_OPNOTSUPPORTED no operation has ended; the caller is a tasklet
 *            and the result of the operation
 * Threads:   any thread, one at a time per request; waits; other user-level
 *            threads of the stream run meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_wait_any(
    size_t count, margo_request *req, size_t *index);

/**
 * Tell whether an operation has ended.
 *
 * @param req   [in]   of a call, answer or transfer that was started
 * @param flag  [out]  1: has ended; the caller must still call margo_wait()
 * Owns:      nothing changes hands.
 * Errors:    -1 an argument is NULL, or req was waited for before (noticed only
 *            until another operation uses its memory)
 * Threads:   any thread; a user-level thread yields if the operation has not
 *            ended, so it may test in a loop.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_test(margo_request req, int *flag);

/**
 * Get the handle of a request's call or answer.
 *
 * @param req  [in]  of a call, answer or transfer that was started
 * Owns:      the result is borrowed from the request.
 * Errors:    HG_HANDLE_NULL for a bulk transfer, and for NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_handle_t margo_request_get_handle(margo_request req);

/**
 * Get the kind of operation of a request.
 *
 * @param req  [in]  of a call, answer or transfer that was started
 * Owns:      nothing changes hands.
 * Errors:    MARGO_INVALID_REQUEST for NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC margo_request_type margo_request_get_type(margo_request req);

/**
 * Get the instance of a request.
 *
 * @param req  [in]  of a call, answer or transfer that was started
 * Owns:      the result is borrowed from the request.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC margo_instance_id margo_request_get_instance(margo_request req);

#ifdef __cplusplus
}
#endif

#endif
