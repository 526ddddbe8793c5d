/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions on which the C++ objects of thallium.hpp stand, and which Margo
 * does not have. */
#ifndef AMALGAM_THALLIUM_H
#define AMALGAM_THALLIUM_H

#include <stddef.h>

#include "amalgam_group.h"
#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the data of the RPC of a request, and count a reference to them.
 *
 * The call is safe while another thread deregisters the RPC or attaches other
 * data. The old data are freed either before this function reads the pointer,
 * and the result is NULL or the new data; or after `ref` was called with the
 * old data.
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
 * Get the finalize or prefinalize callback that an owner pushed last, and count
 * a reference to its argument; or remove the callback.
 *
 * While `ref` runs, no other thread uses the argument: a callback is either
 * found here, or already taken by the thread that runs it.
 *
 * @param mid        [in]   the Margo instance
 * @param is_before  [in]   not 0: prefinalize callback; 0: finalize callback
 * @param owner      [in]   NULL: a callback without an owner
 * @param ref        [in]   called with the callback, under a lock: only counts;
 *                          NULL: the callback is removed
 * @param ret_cb     [out]  the callback
 * @param ret_arg    [out]  its argument
 * Owns:      the caller owns the reference that `ref` has counted, or, after a
 *            removal, the reference that the callback had.
 * Errors:    0  no such callback, and nothing was written; 1: success
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
 * Does nothing if the request has been answered or has no response, or if other
 * references to the handle exist, whose owners may answer.
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
 * @param handle  [in]   a handle whose last call failed
 * @param text    [out]  room for AMALGAM_MARGO_TEXT_MAX + 1 bytes
 * Owns:      nothing changes hands.
 * Errors:    0  no text came, and nothing was written; else its length
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: a call with the handle is in flight.
 * Source:    ours.
 */
HG_PUBLIC size_t amalgam_margo_error_text(hg_handle_t handle, char *text);

/** How an instance ends when its last engine goes away. */
enum amalgam_margo_engine_how {
    AMALGAM_MARGO_ENGINE_ENDS,    /* the instance is finalized at once */
    AMALGAM_MARGO_ENGINE_WAITS,   /* the call waits for finalize() */
    AMALGAM_MARGO_ENGINE_RELEASES /* drops the opening call's reference */
};

/**
 * End an instance whose last engine goes away.
 *
 * If the instance is ending already, the call only waits for the end. With
 * AMALGAM_MARGO_ENGINE_WAITS the call first waits for finalize(), and logs this
 * wait after a second; but not if AMALGAM_ENGINE_WAIT is 0, or if the instance
 * neither serves an RPC of the program nor allows remote shutdown.
 *
 * @param mid  [in]  the caller has a reference besides that of the opening call
 * @param how  [in]  what the caller owns, and whether it waits
 * Owns:      the reference of the opening call is consumed.
 * Errors:    none.
 * Threads:   any thread; blocks until the instance has ended, but not in a
 *            handler or a callback, nor for AMALGAM_MARGO_ENGINE_RELEASES. May
 *            switch the calling ULT: yes.
 * Undefined: the reference of the opening call was dropped before.
 * Source:    ours.
 */
HG_PUBLIC void amalgam_margo_engine_end(
    margo_instance_id mid, enum amalgam_margo_engine_how how);

/**
 * Set how outputs of an RPC are folded in calls to groups, with a proc.
 *
 * As margo_register_reduce() without flags, but reductions code the outputs by
 * `proc` in place of the RPC's own.
 *
 * @param mid      [in]  the Margo instance
 * @param id       [in]  a registered RPC
 * @param proc     [in]  decodes into `out_len` zeroed bytes, encodes, and frees
 * @param fn       [in]  as for margo_register_reduce()
 * @param arg      [in]  for `fn`
 * @param out_len  [in]  as for margo_register_reduce()
 * Owns:      `arg` must live as long as calls may fold.
 * Errors:    as margo_register_reduce()
 * Threads:   any thread; never blocks.
 * Undefined: called while calls of the RPC to groups are under way.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_margo_register_reduce_proc(margo_instance_id mid,
    hg_id_t id, hg_proc_cb_t proc, amalgam_reduce_cb_t fn, void *arg,
    size_t out_len);

#ifdef __cplusplus
}
#endif

#endif
