/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of RPCs, with the procs of their arguments.
 *
 * Origin and target register the same names; ids follow from the names. */
#ifndef MERCURY_REGISTER_H
#define MERCURY_REGISTER_H

#include "mercury_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Register an RPC by name; the id is a 32 bit hash of the name.
 *
 * @param hg_class     [in]  of HG_Init() or its forms, or amalgam_init()
 * @param func_name    [in]  "hello" has the id 261238937 everywhere
 * @param in_proc_cb   [in]  codes the input; NULL: there is none
 * @param out_proc_cb  [in]  codes the output; NULL: there is none
 * @param rpc_cb       [in]  serves the calls; NULL: this process only calls
 * Owns:      nothing changes hands.
 * Errors:    0: hg_class or func_name is NULL, the hash is 0, or no memory. An
 *            RPC that has the same id already is replaced, with a warning.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_id_t HG_Register_name(hg_class_t *hg_class, const char *func_name,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/**
 * Tell whether an RPC with a name is registered.
 *
 * @param hg_class   [in]   of HG_Init() or its forms, or amalgam_init()
 * @param func_name  [in]   as for HG_Register_name()
 * @param id         [out]  id of the name, even if not registered; may be NULL
 * @param flag       [out]  HG_TRUE or HG_FALSE
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class, func_name or flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Registered_name(
    hg_class_t *hg_class, const char *func_name, hg_id_t *id, uint8_t *flag);

/**
 * Register an RPC by an id that the program chooses.
 *
 * If the id is registered already, the procs and the callback are replaced,
 * with a warning.
 *
 * @param hg_class     [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id           [in]  not 0
 * @param in_proc_cb   [in]  codes the input struct; NULL: there is no input
 * @param out_proc_cb  [in]  codes the output struct; NULL: there is no output
 * @param rpc_cb       [in]  the handler; NULL: this process only calls
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class is NULL or id is 0
 *            HG_NOMEM       no memory for the entry
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but id 0 is refused.
 */
HG_PUBLIC hg_return_t HG_Register(hg_class_t *hg_class, hg_id_t id,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/**
 * Deregister an RPC, and free its data by their callback.
 *
 * Requests for the RPC that arrive later are answered with HG_NOENTRY.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]  of a registered RPC
 * Owns:      the data of HG_Register_data() are freed by their callback.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 *            HG_NOENTRY     not registered
 * Threads:   any thread; never blocks.
 * Undefined: calls of that id in flight.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Deregister(hg_class_t *hg_class, hg_id_t id);

/**
 * Tell whether an RPC with an id is registered.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]   of a registered RPC
 * @param flag      [out]  HG_TRUE or HG_FALSE
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class or flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Registered(
    hg_class_t *hg_class, hg_id_t id, uint8_t *flag);

/**
 * Get the procs of an RPC.
 *
 * @param hg_class     [in]   of HG_Init() or its forms, or amalgam_init()
 * @param id           [in]   of a registered RPC
 * @param flag         [out]  HG_TRUE if registered: then the procs are written
 * @param in_proc_cb   [out]  may be NULL
 * @param out_proc_cb  [out]  may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class or flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Registered_proc_cb(hg_class_t *hg_class, hg_id_t id,
    uint8_t *flag, hg_proc_cb_t *in_proc_cb, hg_proc_cb_t *out_proc_cb);

/**
 * Attach a pointer of the program to an RPC.
 *
 * @param hg_class       [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id             [in]  of a registered RPC
 * @param data           [in]  earlier data are freed by their callback
 * @param free_callback  [in]  called with `data` when the RPC is deregistered
 *                             or the class closed; may be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 *            HG_NOENTRY     not registered
 * Threads:   any thread, one at a time per RPC; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Register_data(hg_class_t *hg_class, hg_id_t id,
    void *data, void (*free_callback)(void *));

/**
 * Get the pointer that HG_Register_data() attached, or NULL.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]  of a registered RPC
 * Owns:      nothing changes hands.
 * Errors:    NULL also if the RPC is not registered.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void *HG_Registered_data(hg_class_t *hg_class, hg_id_t id);

/**
 * Make an RPC one-way: its target sends no reply.
 *
 * Origin and target make this call before they create handles with that id.
 *
 * @param hg_class  [in]  of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]  of a registered RPC
 * @param disable   [in]  HG_TRUE: one-way; HG_FALSE: with a reply again
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class is NULL
 *            HG_NOENTRY     not registered
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Registered_disable_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t disable);

/**
 * Tell whether an RPC is one-way.
 *
 * @param hg_class  [in]   of HG_Init() or its forms, or amalgam_init()
 * @param id        [in]   of a registered RPC
 * @param disabled  [out]  HG_TRUE or HG_FALSE
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG hg_class or disabled is NULL
 *            HG_NOENTRY     not registered
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t HG_Registered_disabled_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t *disabled);

#ifdef __cplusplus
}
#endif

#endif
