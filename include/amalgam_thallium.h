/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions on which the C++ objects of thallium.hpp stand, and which Margo
 * does not have. */
#ifndef AMALGAM_THALLIUM_H
#define AMALGAM_THALLIUM_H

#include <stddef.h>

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the data of the RPC of a request, and count a reference to them.
 *
 * The call is safe while another thread deregisters the RPC or attaches other
 * data: the data that were attached before are freed either before this
 * function looks, and the result is NULL or the new data, or after `ref` was
 * called with the old data.
 *
 * @param handle  [in]  a request, as its handler received it
 * @param ref     [in]  called with the data, under a lock: only counts
 * Owns:      the caller owns the reference that `ref` has counted.
 * Errors:    NULL  the RPC has no data, or is deregistered; `ref` is not called
 * Threads:   any thread; never blocks.
 * Undefined: `ref` calls a function of the library.
 * Source:    ours.
 */
HG_PUBLIC void *amalgam_margo_data_ref(
    hg_handle_t handle, void (*ref)(void *data));

/**
 * Get the callback of an instance's teardown that an owner pushed last, and
 * count a reference to its argument; or remove the callback.
 *
 * The argument of a callback that is found is in use by no other thread before
 * `ref` was called: each callback is either found here, or run.
 *
 * @param mid        [in]
 * @param is_before  [in]   not 0: of those of the prefinalize functions
 * @param owner      [in]   NULL: of those without an owner
 * @param ref        [in]   called with the callback, under a lock: only counts;
 *                          NULL: the callback is removed
 * @param ret_cb     [out]  the callback
 * @param ret_arg    [out]  its argument
 * Owns:      the caller owns the reference that `ref` has counted, or that of
 *            the callback that was removed.
 * Errors:    0  there is none, and nothing was written; 1 it was found
 * Threads:   any thread; never blocks.
 * Undefined: `ref` calls a function of the library; the instance ended during
 *            the call.
 * Source:    ours.
 */
HG_PUBLIC int amalgam_margo_callback_get(margo_instance_id mid, int is_before,
    const void *owner, void (*ref)(margo_finalize_callback_t cb, void *arg),
    margo_finalize_callback_t *ret_cb, void **ret_arg);

enum {
    AMALGAM_MARGO_TEXT_MAX = 512 /* bytes of a text that goes with an error */
};

/**
 * Answer a request with an error and a text, in place of its handler.
 *
 * Does nothing if the request has been answered, has no response, or is held by
 * others, who may answer it.
 *
 * @param handle  [in]  the request; stays the caller's
 * @param ret     [in]  what the origin's call returns; not HG_SUCCESS
 * @param text    [in]  at most AMALGAM_MARGO_TEXT_MAX bytes are sent
 * Owns:      nothing changes hands.
 * Errors:    none; the log says if the answer cannot be sent.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the handle was destroyed.
 * Source:    ours.
 */
HG_PUBLIC void amalgam_margo_answer_error(
    hg_handle_t handle, hg_return_t ret, const char *text);

/**
 * Get the text that came with the error of a call.
 *
 * @param handle  [in]   whose last call failed
 * @param text    [out]  of AMALGAM_MARGO_TEXT_MAX + 1 bytes
 * Owns:      nothing changes hands.
 * Errors:    0  no text came, and nothing was written; else its length
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: a call with the handle is in flight.
 * Source:    ours.
 */
HG_PUBLIC size_t amalgam_margo_error_text(hg_handle_t handle, char *text);

/** How an instance ends when its last engine goes away. */
enum amalgam_margo_engine_how {
    AMALGAM_MARGO_ENGINE_ENDS,    /* it is finalized */
    AMALGAM_MARGO_ENGINE_WAITS,   /* somebody has to finalize it */
    AMALGAM_MARGO_ENGINE_RELEASES /* the reference of the opening call goes */
};

/**
 * End an instance whose last engine goes away.
 *
 * Does nothing more than to wait if the instance is ending, and not even that
 * in a handler or a callback. AMALGAM_MARGO_ENGINE_WAITS finalizes an instance
 * that serves no RPC of the program and does not allow remote shutdown, or if
 * AMALGAM_ENGINE_WAIT is 0; else the instance serves until somebody finalizes
 * it, and after a second the log says that it waits.
 *
 * @param mid  [in]  the caller has a reference besides that of the opening call
 * @param how  [in]
 * Owns:      the reference of the opening call is consumed.
 * Errors:    none.
 * Threads:   any thread; blocks until the instance has ended, except in a
 *            handler or a callback. May switch the calling ULT: yes.
 * Undefined: the reference of the opening call was dropped before.
 * Source:    ours.
 */
HG_PUBLIC void amalgam_margo_engine_end(
    margo_instance_id mid, enum amalgam_margo_engine_how how);

#ifdef __cplusplus
}
#endif

#endif
