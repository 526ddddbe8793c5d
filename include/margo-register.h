/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of RPCs, with or without a provider.
 *
 * The id of an RPC is a hash of its name, with the provider in the 16 low bits;
 * so origin and target have to name the same provider, or both none. */
#ifndef MARGO_REGISTER_H
#define MARGO_REGISTER_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Register an RPC for a provider.
 *
 * An RPC that is registered already is replaced; the log warns if both the
 * former and the new registration have a handler.
 *
 * @param mid          [in]  the Margo instance
 * @param func_name    [in]  the name, as the other side registers it
 * @param in_proc_cb   [in]  codes the input; NULL: the RPC has none
 * @param out_proc_cb  [in]  codes the output; NULL: the RPC has none
 * @param rpc_cb       [in]  serves the RPC; see DEFINE_MARGO_RPC_HANDLER();
 *                           NULL: this process only calls the RPC
 * @param provider_id  [in]  MARGO_DEFAULT_PROVIDER_ID: no provider
 * @param pool         [in]  pool of its handlers; ABT_POOL_NULL: the default
 *                           pool
 * Owns:      nothing changes hands.
 * Errors:    0 on any failure; the log says why.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_id_t margo_provider_register_name(margo_instance_id mid,
    const char *func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
    hg_rpc_cb_t rpc_cb, uint16_t provider_id, ABT_pool pool);

/**
 * Register an RPC for provider 0, which is not MARGO_DEFAULT_PROVIDER_ID.
 *
 * Origin and target have to name the same provider.
 *
 * @param mid          [in]  the Margo instance
 * @param func_name    [in]  the name, as the other side registers it
 * @param in_proc_cb   [in]  codes the input; NULL: the RPC has none
 * @param out_proc_cb  [in]  codes the output; NULL: the RPC has none
 * @param rpc_cb       [in]  serves the RPC; see DEFINE_MARGO_RPC_HANDLER();
 *                           NULL: this process only calls the RPC
 * Owns:      nothing changes hands.
 * Errors:    0 on any failure; the log says why.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
static inline hg_id_t margo_register_name(margo_instance_id mid,
    const char *func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
    hg_rpc_cb_t rpc_cb)
{
    return margo_provider_register_name(
        mid, func_name, in_proc_cb, out_proc_cb, rpc_cb, 0, ABT_POOL_NULL);
}

/**
 * Deregister an RPC.
 *
 * Requests that come later, or whose handler has no thread yet, are answered
 * with HG_NOENTRY; handlers that have a thread continue.
 *
 * @param mid     [in]  the Margo instance
 * @param rpc_id  [in]  of a registered RPC
 * Owns:      the data of the RPC are freed by their callback.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_NOENTRY     the RPC is not registered
 * Threads:   any thread; never blocks.
 * Undefined: calls of that id in flight.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_deregister(margo_instance_id mid, hg_id_t rpc_id);

/**
 * Tell whether an RPC without provider is registered under a name.
 *
 * @param mid        [in]   the Margo instance
 * @param func_name  [in]   the name to look for
 * @param id         [out]  id of the RPC, if it is registered
 * @param flag       [out]  HG_TRUE: the RPC is registered
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_registered_name(
    margo_instance_id mid, const char *func_name, hg_id_t *id, hg_bool_t *flag);

/**
 * Tell whether an RPC of a provider is registered under a name.
 *
 * @param mid          [in]   the Margo instance
 * @param func_name    [in]   the name to look for
 * @param provider_id  [in]   the number of the provider
 * @param id           [out]  id of the RPC, if it is registered
 * @param flag         [out]  HG_TRUE: the RPC is registered
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_registered_name(margo_instance_id mid,
    const char *func_name, uint16_t provider_id, hg_id_t *id, hg_bool_t *flag);

/**
 * Attach a pointer of the program to an RPC.
 *
 * @param mid            [in]  the Margo instance
 * @param id             [in]  of a registered RPC
 * @param data           [in]  former data are freed by their callback
 * @param free_callback  [in]  called with `data` when the RPC is deregistered
 *                             or the instance ends; may be NULL
 * Owns:      `data` stays the caller's until `free_callback` is called.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_OTHER_ERROR the RPC is not registered
 * Threads:   any thread, one at a time per RPC; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_register_data(margo_instance_id mid, hg_id_t id,
    void *data, void (*free_callback)(void *));

/**
 * Get the pointer that margo_register_data() attached.
 *
 * @param mid  [in]  the Margo instance
 * @param id   [in]  of a registered RPC
 * Owns:      nothing changes hands.
 * Errors:    NULL also when the RPC is not registered.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void *margo_registered_data(margo_instance_id mid, hg_id_t id);

/**
 * Make an RPC one-way: its handlers do not respond.
 *
 * Origin and target call this function before the first call of the RPC.
 *
 * @param mid           [in]  the Margo instance
 * @param id            [in]  of a registered RPC
 * @param disable_flag  [in]  not 0: one-way
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_NOENTRY     the RPC is not registered
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_registered_disable_response(
    margo_instance_id mid, hg_id_t id, int disable_flag);

/**
 * Tell whether an RPC is one-way.
 *
 * @param mid            [in]   the Margo instance
 * @param id             [in]   of a registered RPC
 * @param disabled_flag  [out]  1: the RPC is one-way
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_NOENTRY     the RPC is not registered
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_registered_disabled_response(
    margo_instance_id mid, hg_id_t id, int *disabled_flag);

/**
 * Get the name under which an RPC was registered.
 *
 * @param mid  [in]  the Margo instance
 * @param id   [in]  of a registered RPC
 * Owns:      the result is borrowed from the RPC.
 * Errors:    NULL the RPC is not registered, or mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC const char *margo_rpc_get_name(margo_instance_id mid, hg_id_t id);

/**
 * Get the name of the RPC of a handle.
 *
 * @param handle  [in]  of margo_create(), or as a handler received it
 * Owns:      the result is borrowed from the RPC.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC const char *margo_handle_get_name(hg_handle_t handle);

/**
 * Get the pool in which the handlers of an RPC run.
 *
 * @param mid   [in]   the Margo instance
 * @param id    [in]   of a registered RPC
 * @param pool  [out]  the pool
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_NOENTRY     the RPC is not registered
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_rpc_get_pool(
    margo_instance_id mid, hg_id_t id, ABT_pool *pool);

/**
 * Set the pool for handlers of an RPC that start from now on.
 *
 * @param mid   [in]  the Margo instance
 * @param id    [in]  of a registered RPC
 * @param pool  [in]  ABT_POOL_NULL: the default pool for handlers
 * Owns:      the pool must live as long as the RPC.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_NOENTRY     the RPC is not registered
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_rpc_set_pool(
    margo_instance_id mid, hg_id_t id, ABT_pool pool);

/**
 * Register the identity of a provider: the name of its kind.
 *
 * @param mid          [in]  the Margo instance
 * @param provider_id  [in]  the number of the provider
 * @param identity     [in]  copied
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL, or the provider has an
 *                           identity already
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_register_identity(
    margo_instance_id mid, uint16_t provider_id, const char *identity);

/**
 * Undo margo_provider_register_identity().
 *
 * @param mid          [in]  the Margo instance
 * @param provider_id  [in]  the number of the provider
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid is NULL
 *            HG_NOENTRY     the provider has no identity
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_deregister_identity(
    margo_instance_id mid, uint16_t provider_id);

/**
 * Get the identity of a provider of this instance.
 *
 * @param mid          [in]  the Margo instance
 * @param provider_id  [in]  the number of the provider
 * Owns:      the result is borrowed from the instance, until the identity is
 *            deregistered.
 * Errors:    NULL the provider has no identity, or mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC const char *margo_provider_registered_identity(
    margo_instance_id mid, uint16_t provider_id);

/**
 * Get the identity of a provider of another process.
 *
 * @param mid          [in]  the Margo instance
 * @param address      [in]  of that process
 * @param provider_id  [in]  the number of the provider
 * @param buffer       [out]  the text, with NUL
 * @param bufsize      [in,out]  size of the buffer; becomes the bytes needed
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_NOENTRY     the provider has no identity, or does not exist
 *            HG_NOMEM       the buffer is too small; only bufsize is written
 *            HG_OTHER_ERROR the other process could not read the identity
 *            and those of margo_forward()
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_provider_get_identity(margo_instance_id mid,
    hg_addr_t address, uint16_t provider_id, char *buffer, size_t *bufsize);

#ifdef __cplusplus
}
#endif

/* MARGO_REGISTER(mid, "sum", sum_in_t, sum_out_t, sum)
 *
 * expands to
 *
 *   margo_provider_register_name(mid, "sum", hg_proc_sum_in_t,
 *       hg_proc_sum_out_t, _handler_for_sum, MARGO_DEFAULT_PROVIDER_ID,
 *       ABT_POOL_NULL);
 *
 * with its semicolon, and returns the id. A type may be `void`; the handler is
 * NULL if this process only calls the RPC. */
#define MARGO_REGISTER(mid_, func_name_, in_t_, out_t_, handler_)              \
    margo_provider_register_name(mid_, func_name_,                             \
        HG_GEN_CAT(hg_proc_, in_t_), HG_GEN_CAT(hg_proc_, out_t_),             \
        _handler_for_##handler_, MARGO_DEFAULT_PROVIDER_ID, ABT_POOL_NULL);

/* MARGO_REGISTER() for a provider and a pool. */
#define MARGO_REGISTER_PROVIDER(                                               \
    mid_, func_name_, in_t_, out_t_, handler_, provider_id_, pool_)            \
    margo_provider_register_name(mid_, func_name_,                             \
        HG_GEN_CAT(hg_proc_, in_t_), HG_GEN_CAT(hg_proc_, out_t_),             \
        _handler_for_##handler_, provider_id_, pool_);

/* The handler of an RPC that this process only calls. */
#define _handler_for_NULL NULL

#endif
