/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls between a program that uses only Mercury's API and a Margo program,
 * whose RPC ids contain the provider's id, and whose outputs begin with a code.
 * Functions that code a struct take the program's proc as an argument, because
 * the registered procs code what Margo puts in front of the program's structs.
 *
 * A program without an instance uses these functions instead of
 * HG_Register_name(), HG_Forward(), HG_Respond() and so on, and all other
 * functions of Mercury, such as HG_Create() and HG_Progress(), unchanged. */
#ifndef MARGO_HG_SHIM_H
#define MARGO_HG_SHIM_H

#include "mercury.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Register an RPC under the id that Margo gives it.
 *
 * The id is that of an RPC without provider, which the Margo program registers
 * under the same name by MARGO_REGISTER().
 *
 * @param hg_class   [in]  of HG_Init() or its forms
 * @param func_name  [in]  the name in the Margo program
 * @param rpc_cb     [in]  serves requests; NULL: this program only calls
 * Owns:      nothing changes hands.
 * Errors:    0 on any failure; the log says why.
 * Threads:   any thread, one at a time per class; never blocks.
 * Undefined: the class closed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_id_t HG_Register_name_for_margo(
    hg_class_t *hg_class, const char *func_name, hg_rpc_cb_t rpc_cb);

/**
 * Call a Margo program as HG_Forward() does.
 *
 * @param handle      [in]  with an id of HG_Register_name_for_margo()
 * @param callback    [in]  as for HG_Forward()
 * @param arg         [in]  passed to the callback
 * @param in_proc_cb  [in]  codes the input; NULL: there is none
 * @param in_struct   [in]  of the type that `in_proc_cb` codes; NULL: none
 * Owns:      `in_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran.
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 *            and those of HG_Forward()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Forward_to_margo(hg_handle_t handle, hg_cb_t callback,
    void *arg, hg_proc_cb_t in_proc_cb, void *in_struct);

/**
 * Answer a Margo program as HG_Respond() does.
 *
 * @param handle       [in]  with an id of HG_Register_name_for_margo()
 * @param callback     [in]  may be NULL
 * @param arg          [in]  passed to the callback
 * @param out_proc_cb  [in]  codes the output; NULL: there is none
 * @param out_struct   [in]  of the type that `out_proc_cb` codes; NULL: none
 * Owns:      `out_struct` may be reused when the call returns; `arg` must live
 *            until the callback ran.
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 *            and those of HG_Respond()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Respond_to_margo(hg_handle_t handle, hg_cb_t callback,
    void *arg, hg_proc_cb_t out_proc_cb, void *out_struct);

/**
 * Decode the input that a Margo program sent, as HG_Get_input() does.
 *
 * @param handle      [in]   the call, as its handler received it
 * @param in_proc_cb  [in]   codes the input
 * @param in_struct   [out]  of the type that `in_proc_cb` codes; NULL: only
 *                           decode Margo's header
 * Owns:      the fields are the caller's until HG_Free_input_from_margo().
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 *            and those of HG_Get_input()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Get_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct);

/**
 * Free the members that HG_Get_input_from_margo() decoded.
 *
 * @param handle      [in]  the call, as its handler received it
 * @param in_proc_cb  [in]  as it was given to HG_Get_input_from_margo()
 * @param in_struct   [in]  as that call filled it
 * Owns:      the fields are consumed.
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: called more often than HG_Get_input_from_margo().
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Free_input_from_margo(
    hg_handle_t handle, hg_proc_cb_t in_proc_cb, void *in_struct);

/**
 * Decode the output that a Margo program sent, as HG_Get_output() does.
 *
 * @param handle       [in]   the call at its origin, once its callback runs
 * @param out_proc_cb  [in]   codes the output
 * @param out_struct   [out]  of the type that `out_proc_cb` codes; NULL: only
 *                            decode Margo's return code
 * Owns:      the fields are the caller's until HG_Free_output_from_margo().
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 *            HG_NOENTRY     the Margo program does not serve the RPC
 *            HG_PERMISSION  the instance of that program is ending
 *            and those of HG_Get_output()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Get_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct);

/**
 * Free the members that HG_Get_output_from_margo() decoded.
 *
 * @param handle       [in]  the call at its origin, once its callback runs
 * @param out_proc_cb  [in]  as it was given to HG_Get_output_from_margo()
 * @param out_struct   [in]  as that call filled it
 * Owns:      the fields are consumed.
 * Errors:    HG_INVALID_ARG handle is NULL, or a struct is given without a proc
 *            HG_NO_MATCH    the RPC is not of HG_Register_name_for_margo()
 * Threads:   any thread, one at a time per handle; never blocks.
 * Undefined: called more often than HG_Get_output_from_margo().
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t HG_Free_output_from_margo(
    hg_handle_t handle, hg_proc_cb_t out_proc_cb, void *out_struct);

#ifdef __cplusplus
}
#endif

#endif
