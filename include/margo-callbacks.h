/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks of an instance's teardown. */
#ifndef MARGO_CALLBACKS_H
#define MARGO_CALLBACKS_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Add a callback that runs when the instance begins to end, while calls still
 * work.
 *
 * The callback that was pushed last runs first.
 *
 * @param mid    [in]  the Margo instance
 * @param cb     [in]  the function to call
 * @param uargs  [in]  passed to the callback
 * Owns:      `uargs` must live until the callback ran, or is popped.
 * Errors:    none; for a NULL instance or callback, or without memory, nothing
 *            is pushed, and the log says so.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_push_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs);

/**
 * Remove the callback that was pushed last without an owner.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    0 there is no such callback; 1 the callback was removed
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_pop_prefinalize_callback(margo_instance_id mid);

/**
 * Get the callback that was pushed last without an owner.
 *
 * @param mid    [in]   the Margo instance
 * @param cb     [out]  may be NULL
 * @param uargs  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    0 there is none, and nothing was written; 1 a callback was found
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_top_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs);

/**
 * Add a callback, with an owner that can remove it, that runs when the instance
 * begins to end, while calls still work.
 *
 * @param mid    [in]  the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * @param cb     [in]  the function to call
 * @param uargs  [in]  passed to the callback
 * Owns:      `uargs` must live until the callback ran, or is popped.
 * Errors:    none; for a NULL instance or callback, or without memory, nothing
 *            is pushed, and the log says so.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_provider_push_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs);

/**
 * Remove the callback that an owner pushed last.
 *
 * @param mid    [in]  the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * Owns:      nothing changes hands.
 * Errors:    0 there is no such callback; 1 the callback was removed
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_provider_pop_prefinalize_callback(
    margo_instance_id mid, const void *owner);

/**
 * Get the callback that an owner pushed last.
 *
 * @param mid    [in]   the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * @param cb     [out]  may be NULL
 * @param uargs  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    0 there is none, and nothing was written; 1 a callback was found
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_provider_top_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs);

/**
 * Add a callback that runs when the instance has ended and calls no longer
 * work.
 *
 * The callback that was pushed last runs first.
 *
 * @param mid    [in]  the Margo instance
 * @param cb     [in]  the function to call
 * @param uargs  [in]  passed to the callback
 * Owns:      `uargs` must live until the callback ran, or is popped.
 * Errors:    none; for a NULL instance or callback, or without memory, nothing
 *            is pushed, and the log says so.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_push_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs);

/**
 * Remove the callback that was pushed last without an owner.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    0 there is no such callback; 1 the callback was removed
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_pop_finalize_callback(margo_instance_id mid);

/**
 * Get the callback that was pushed last without an owner.
 *
 * @param mid    [in]   the Margo instance
 * @param cb     [out]  may be NULL
 * @param uargs  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    0 there is none, and nothing was written; 1 a callback was found
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_top_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs);

/**
 * Add a callback, with an owner that can remove it, that runs when the instance
 * has ended and calls no longer work.
 *
 * @param mid    [in]  the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * @param cb     [in]  the function to call
 * @param uargs  [in]  passed to the callback
 * Owns:      `uargs` must live until the callback ran, or is popped.
 * Errors:    none; for a NULL instance or callback, or without memory, nothing
 *            is pushed, and the log says so.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_provider_push_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs);

/**
 * Remove the callback that an owner pushed last.
 *
 * @param mid    [in]  the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * Owns:      nothing changes hands.
 * Errors:    0 there is no such callback; 1 the callback was removed
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_provider_pop_finalize_callback(
    margo_instance_id mid, const void *owner);

/**
 * Get the callback that an owner pushed last.
 *
 * @param mid    [in]   the Margo instance
 * @param owner  [in]  identifies the owner; only compared
 * @param cb     [out]  may be NULL
 * @param uargs  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    0 there is none, and nothing was written; 1 a callback was found
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_provider_top_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs);

#ifdef __cplusplus
}
#endif

#endif
