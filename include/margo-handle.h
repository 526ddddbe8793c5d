/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of calls and of received requests, and their arguments. */
#ifndef MARGO_HANDLE_H
#define MARGO_HANDLE_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a handle for a call, or take one from the instance's cache.
 *
 * @param mid     [in]   the Margo instance
 * @param addr    [in]   the target; any address of the class for a call to a
 *                       group
 * @param id      [in]   of a registered RPC
 * @param handle  [out]  the new handle
 * Owns:      the caller owns the result; margo_destroy() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_OTHER_ERROR the RPC was not registered with Margo
 *            and those of HG_Create()
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_create(
    margo_instance_id mid, hg_addr_t addr, hg_id_t id, hg_handle_t *handle);

/**
 * Release a reference to a handle, of a call or of a request.
 *
 * @param handle  [in]  of margo_create(), or as a handler received it
 * Owns:      the reference to the handle is consumed.
 * Errors:    HG_INVALID_ARG handle was destroyed before; HG_SUCCESS for NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_destroy(hg_handle_t handle);

/**
 * Take another reference to a handle.
 *
 * @param handle  [in]  of margo_create(), or as a handler received it
 * Owns:      the caller owns the new reference; margo_destroy() releases it.
 * Errors:    HG_INVALID_ARG handle is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_ref_incr(hg_handle_t handle);

/**
 * Get the address, RPC id, context and class of a handle.
 *
 * @param handle  [in]  of margo_create(), or as a handler received it
 * Owns:      the result is borrowed from the handle.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC const struct hg_info *margo_get_info(hg_handle_t handle);

/**
 * Decode the input of a request.
 *
 * @param handle     [in]   of a request, as its handler received it
 * @param in_struct  [out]  of the type of the input
 * Owns:      the caller owns the members; margo_free_input() frees them.
 * Errors:    HG_INVALID_ARG handle is NULL
 *            HG_NO_MATCH    the RPC has no input, or is no longer registered
 *            and those of HG_Get_input()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_get_input(hg_handle_t handle, void *in_struct);

/**
 * Free the members of an input.
 *
 * @param handle     [in]  of a request, as its handler received it
 * @param in_struct  [in,out]  as margo_get_input() filled it in
 * Owns:      the members are consumed.
 * Errors:    HG_INVALID_ARG handle is NULL, or no input is decoded
 *            and those of HG_Free_input()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_free_input(hg_handle_t handle, void *in_struct);

/**
 * Decode the output of a call.
 *
 * @param handle      [in]   of a call that has ended with HG_SUCCESS
 * @param out_struct  [out]  of the type of the output
 * Owns:      the caller owns the members; margo_free_output() frees them.
 * Errors:    HG_INVALID_ARG handle is NULL
 *            HG_NO_MATCH    the RPC has no output, or is no longer registered
 *            HG_NOENTRY     the target does not know the RPC or the provider
 *            any other error with which the target answered, and those of
 *            HG_Get_output()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_get_output(hg_handle_t handle, void *out_struct);

/**
 * Free the members of an output.
 *
 * @param handle      [in]  of a call that has ended with HG_SUCCESS
 * @param out_struct  [in,out]  as margo_get_output() filled it in
 * Owns:      the members are consumed.
 * Errors:    HG_INVALID_ARG handle is NULL, or no output is decoded
 *            and those of HG_Free_output()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_free_output(hg_handle_t handle, void *out_struct);

/**
 * Attach a pointer of the program to a handle.
 *
 * @param handle         [in]  of margo_create(), or as a handler received it
 * @param data           [in]  the pointer; NULL is allowed
 * @param free_callback  [in]  called with `data` when the handle is freed, or
 *                             gets other data; may be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG handle is NULL
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *));

/**
 * Get the pointer that margo_set_data() attached.
 *
 * @param handle  [in]  of margo_create(), or as a handler received it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void *margo_get_data(hg_handle_t handle);

/**
 * Get the instance of a handle.
 *
 * @param h  [in]  of margo_create(), or as a handler received it
 * Owns:      the result is borrowed from the handle.
 * Errors:    NULL gives NULL; so does a handle of no instance.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC margo_instance_id margo_hg_handle_get_instance(hg_handle_t h);

/**
 * Get the instance from the info of a handle.
 *
 * @param info  [in]  of margo_get_info()
 * Owns:      the result is borrowed from the handle.
 * Errors:    NULL gives NULL; so does a handle of no instance.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
DEPRECATED("use margo_hg_handle_get_instance()")
HG_PUBLIC margo_instance_id margo_hg_info_get_instance(
    const struct hg_info *info);

/**
 * Get the pool in which the handlers of the RPC of a handle run.
 *
 * @param h  [in]  of margo_create(), or as a handler received it
 * Owns:      the result is borrowed from the instance.
 * Errors:    NULL gives ABT_POOL_NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC ABT_pool margo_hg_handle_get_handler_pool(hg_handle_t h);

/**
 * Set the RPC on whose behalf the calling thread makes its calls.
 *
 * Used only with a monitor: calls carry the id of this RPC to their targets. In
 * a handler, the RPC is at first the one that the handler serves.
 *
 * @param mid            [in]  the instance that makes the calls
 * @param parent_rpc_id  [in]  0: none
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_OTHER_ERROR the caller is no user-level thread, or there is no
 *                           memory
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_set_current_rpc_id(
    margo_instance_id mid, hg_id_t parent_rpc_id);

/**
 * Get the RPC on whose behalf the calling thread makes its calls.
 *
 * @param mid            [in]   the Margo instance
 * @param parent_rpc_id  [out]  0: none was set
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_OTHER_ERROR the caller is no user-level thread
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_get_current_rpc_id(
    margo_instance_id mid, hg_id_t *parent_rpc_id);

#ifdef __cplusplus
}
#endif

#endif
