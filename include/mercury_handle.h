/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: each stands for one call, at the origin or at the target.
 *
 * The fastest way is to create a handle once, and to reset and forward it many
 * times. A handle may be forwarded again when its callback has run. */
#ifndef MERCURY_HANDLE_H
#define MERCURY_HANDLE_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a handle for a call.
 *
 * @param context  [in]   the context that will make the call
 * @param addr     [in]   HG_ADDR_NULL: HG_Reset() will name the target
 * @param id       [in]   0: HG_Reset() will name the RPC
 * @param handle   [out]  the new handle
 * Owns:      the caller owns the result; HG_Destroy() frees it. The handle
 *            takes a reference to the address.
 * Errors:    HG_INVALID_ARG context or handle is NULL, or the address is of
 *                           another class
 *            HG_NOENTRY     no such RPC is registered
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: context destroyed during the call.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle);

/**
 * Release a reference to a handle.
 *
 * An operation in flight has a reference of its own: the operation continues
 * and calls its callback. At the target the expected answer has a reference,
 * too, so HG_Respond() may follow HG_Destroy(). If no answer follows, the
 * origin gets HG_CANCELED: when the callback that called HG_Destroy() returns,
 * or, if this callback had started a call or transfer whose own callback may
 * answer, after ten seconds; after one second if no callback called
 * HG_Destroy(); at once if the handle is destroyed twice, or the context of the
 * handle is destroyed.
 *
 * @param handle  [in]  HG_HANDLE_NULL is allowed
 * Owns:      the caller's reference is consumed; if the caller has none, that
 *            of the expected answer is consumed, which ends the call.
 * Errors:    HG_INVALID_ARG the unanswered call was cancelled meanwhile
 * Threads:   any thread; never blocks, except while a peer pulls the long
 *            arguments of a cancelled call: HG_Destroy() then waits at most for
 *            AMALGAM_FREE_TIMEOUT_MS, after which the arguments stay allocated.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the origin of a call that is never answered
 *            gets HG_CANCELED.
 */
HG_PUBLIC hg_return_t HG_Destroy(hg_handle_t handle);

/**
 * Reuse an idle handle for another call; the target's context becomes 0.
 *
 * @param handle  [in]  of HG_Create(), not in flight
 * @param addr    [in]  HG_ADDR_NULL: the address as before
 * @param id      [in]  0: the RPC as before
 * Owns:      the handle takes a reference to the new address.
 * Errors:    HG_INVALID_ARG handle is NULL, or this process is the target
 *            HG_BUSY        a call is in flight
 *            HG_NOENTRY     no such RPC is registered
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);

/**
 * Take another reference to a handle, which HG_Destroy() releases.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      the caller owns the new reference; HG_Destroy() releases it.
 * Errors:    HG_INVALID_ARG handle is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Ref_incr(hg_handle_t handle);

/**
 * Get the number of references to a handle, including references of operations
 * in flight and of an expected answer.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread; never blocks. Other threads may change the number.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC int32_t HG_Ref_get(hg_handle_t handle);

/**
 * Get the class, context, address and RPC id of a handle.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      the result is borrowed from the handle, until HG_Reset().
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC const struct hg_info *HG_Get_info(hg_handle_t handle);

/**
 * Attach a pointer of the program to a handle; HG_Reset() does not remove it.
 *
 * At a target the pointer stays until the call ends. If a function was set by
 * HG_Class_set_handle_create_callback(), the pointer also stays for the calls
 * that the handle serves later, until the class is closed.
 *
 * @param handle         [in]  of HG_Create(), or as a handler received it
 * @param data           [in]  replaces what was set before, without freeing it
 * @param free_callback  [in]  called with `data` when the handle is freed; may
 *                             be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG handle is NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but at a target without such a function the
 *            pointer of an earlier call is removed.
 */
HG_PUBLIC hg_return_t HG_Set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *));

/**
 * Get the pointer that HG_Set_data() attached, or NULL.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void *HG_Get_data(hg_handle_t handle);

/**
 * Choose the target's context that receives the call; 0 by default.
 *
 * @param handle  [in]  of HG_Create(), not in flight
 * @param id      [in]  as the target gave to HG_Context_create_id()
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG handle is NULL, or this process is the target
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: the handle's call in flight.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);

/**
 * Decode the input of a call, at its target.
 *
 * @param handle     [in]   the call, as its handler received it
 * @param in_struct  [out]  of the type that the input proc codes
 * Owns:      the fields are the caller's until HG_Free_input(), which must be
 *            called; the handle lives until then.
 * Errors:    HG_INVALID_ARG    an argument is NULL, or this process is the
 *                              origin
 *            HG_FAULT          the RPC has no input proc, or a short input was
 *                              released: by HG_Release_input_buf(), or by an
 *                              earlier HG_Get_input() with release_input_early
 *            HG_CHECKSUM_ERROR the bytes are not those that were sent
 *            HG_OVERFLOW       the message is shorter than the type needs
 *            and the errors of the proc; then there is nothing to free.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Get_input(hg_handle_t handle, void *in_struct);

/**
 * Free the members that HG_Get_input() decoded. A program that never called
 * HG_Get_input() on the handle, and decoded the bytes of HG_Get_input_buf()
 * itself, frees its struct and drops one of its references to the handle, as
 * HG_Destroy() does.
 *
 * @param handle     [in]  the call, as its handler received it
 * @param in_struct  [in]  as HG_Get_input() or the program filled it in
 * Owns:      the fields are consumed; without HG_Get_input() a reference, too.
 * Errors:    HG_INVALID_ARG an argument is NULL; or HG_Get_input() was called
 *                           and failed, or all it decoded was freed already:
 *                           then the fields are not accessed
 *            HG_FAULT       the RPC has no input proc
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Free_input(hg_handle_t handle, void *in_struct);

/**
 * Decode the output of a call, at its origin, once the callback runs.
 *
 * @param handle      [in]   the call at its origin, once its callback runs
 * @param out_struct  [out]  of the type that the output proc codes
 * Owns:      the fields are the caller's until HG_Free_output(), which must be
 *            called; the handle lives until then.
 * Errors:    HG_INVALID_ARG    an argument is NULL, this process is the target,
 *                              or no call of the handle has ended
 *            HG_FAULT          the RPC has no output proc, or the call ended
 *                              without an output
 *            HG_CHECKSUM_ERROR the bytes are not those that were sent
 *            HG_OVERFLOW       the message is shorter than the type needs
 *            and the errors of the proc; then there is nothing to free.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Get_output(hg_handle_t handle, void *out_struct);

/**
 * Free the members that HG_Get_output() decoded. A program that never called
 * HG_Get_output() on this call, and decoded the bytes of HG_Get_output_buf()
 * itself, frees its struct and drops one of its references to the handle, as
 * HG_Destroy() does. At the target, the output proc frees the members of an
 * output that was sent.
 *
 * @param handle      [in]  the call at its origin, once its callback runs
 * @param out_struct  [in]  as HG_Get_output() or the program filled it in
 * Owns:      the fields are consumed; at the origin without HG_Get_output() a
 *            reference, too.
 * Errors:    HG_INVALID_ARG an argument is NULL; or HG_Get_output() was called
 *                           and failed, or all it decoded was freed already:
 *                           then the fields are not accessed
 *            HG_FAULT       the RPC has no output proc
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Free_output(hg_handle_t handle, void *out_struct);

/**
 * Get the number of bytes of the encoded input, without headers; 0 if there is
 * no input.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4: encoding has no padding, so sizes are the same.
 */
HG_PUBLIC hg_size_t HG_Get_input_payload_size(hg_handle_t handle);

/**
 * Get the number of bytes of the encoded output, without headers; 0 if there is
 * no output.
 *
 * @param handle  [in]  of HG_Create(), or as a handler received it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_size_t HG_Get_output_payload_size(hg_handle_t handle);

/**
 * Get the message buffer of the input.
 *
 * The buffer begins with the bytes that HG_Class_set_input_offset() reserved.
 * The origin writes these bytes before HG_Forward(), which sends them; they
 * stay with the handle, so each later call sends them again. At the target the
 * encoded input follows, unless the input was too long for the message: then
 * HG_Get_input_extra_buf() returns the input.
 *
 * @param handle       [in]   of HG_Create(), or as a handler received it
 * @param in_buf       [out]  aligned to 8
 * @param in_buf_size  [out]  size of the buffer: at the origin as
 *                            HG_Class_get_input_eager_size(), at the target the
 *                            bytes received; may be NULL
 * Owns:      the result is borrowed from the handle, until that is destroyed.
 * Errors:    HG_INVALID_ARG handle or in_buf is NULL
 *            HG_FAULT       the input was released before
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: a write beyond the buffer.
 * Source:    as Mercury 2.4, but at the origin the encoded input is not
 *            written to that buffer.
 */
HG_PUBLIC hg_return_t HG_Get_input_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size);

/**
 * Get the message buffer of the output.
 *
 * The buffer begins with the bytes that HG_Class_set_output_offset() reserved.
 * The target writes these bytes before HG_Respond(), which sends them. The
 * origin may read them once its callback runs; the encoded output follows,
 * unless the output was too long for the message.
 *
 * @param handle        [in]   of HG_Create(), or as a handler received it
 * @param out_buf       [out]  aligned to 8
 * @param out_buf_size  [out]  size, as for HG_Get_input_buf(); may be NULL
 * Owns:      the result is borrowed from the handle, until the handle is
 *            forwarded again, reset or destroyed.
 * Errors:    HG_INVALID_ARG handle or out_buf is NULL
 *            HG_FAULT       at the origin: no answer with output has arrived
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: a write beyond the buffer.
 * Source:    as Mercury 2.4, but at the target the encoded output is not
 *            written to that buffer.
 */
HG_PUBLIC hg_return_t HG_Get_output_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size);

/**
 * Return the message buffer of an input to the transport early.
 *
 * For a target that keeps a call after reading the input. The message of a
 * one-way call is released at once, and the origin may send another; the
 * message of other calls is released with the handle, because the answer needs
 * it. Afterwards HG_Get_input_buf() returns HG_FAULT; so does HG_Get_input(),
 * unless the input was too long for one message. A second call has no effect.
 *
 * @param handle  [in]  of a call at its target
 * Owns:      the result of HG_Get_input_buf() is consumed.
 * Errors:    HG_INVALID_ARG handle is NULL, or this process is the origin
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but with every transport.
 */
HG_PUBLIC hg_return_t HG_Release_input_buf(hg_handle_t handle);

/**
 * Get the buffer of an input that was too long for one message.
 *
 * @param handle       [in]   of HG_Create(), or as a handler received it
 * @param in_buf       [out]  NULL if the input fitted into the message
 * @param in_buf_size  [out]  size of the buffer in bytes; may be NULL
 * Owns:      the result is borrowed from the handle, until it is reset or
 *            destroyed.
 * Errors:    HG_INVALID_ARG handle or in_buf is NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf, hg_size_t *in_buf_size);

/**
 * Get the buffer of an output that was too long for one message.
 *
 * @param handle        [in]   of HG_Create(), or as a handler received it
 * @param out_buf       [out]  NULL if the output fitted into the message
 * @param out_buf_size  [out]  size of the buffer in bytes; may be NULL
 * Owns:      the result is borrowed from the handle, until it is reset or
 *            destroyed.
 * Errors:    HG_INVALID_ARG handle or out_buf is NULL
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf, hg_size_t *out_buf_size);

#ifdef __cplusplus
}
#endif

#endif
