/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that serve RPCs, each request in a user-level thread of its own.
 *
 *   static void sum(hg_handle_t handle);
 *   DECLARE_MARGO_RPC_HANDLER(sum)
 *   DEFINE_MARGO_RPC_HANDLER(sum)
 *
 * The last two expand to
 *
 *   hg_return_t _handler_for_sum(hg_handle_t handle);
 *
 *   void _wrapper_for_sum(hg_handle_t handle);
 *   void _wrapper_for_sum(hg_handle_t handle)
 *   {
 *       margo_instance_id mid_ = margo_hg_handle_get_instance(handle);
 *       struct margo_monitor_rpc_ult_args told_;
 *       __margo_internal_pre_wrapper_hooks(mid_, handle, &told_);
 *       sum(handle);
 *       __margo_internal_post_wrapper_hooks(mid_, &told_);
 *   }
 *   hg_return_t _handler_for_sum(hg_handle_t handle)
 *   {
 *       return amalgam_margo_serve(handle, _wrapper_for_sum);
 *   }
 *
 * MARGO_REGISTER() passes _handler_for_sum() to the library. A program that
 * writes these two functions by hand calls the functions of the second part
 * below, which are steps of amalgam_margo_serve(), in this order (the docstring
 * of these functions says what differs):
 *
 *   hg_return_t _handler_for_sum(hg_handle_t handle)
 *   {
 *       margo_instance_id mid = margo_hg_handle_get_instance(handle);
 *       ABT_pool pool = margo_hg_handle_get_handler_pool(handle);
 *       struct margo_monitor_rpc_handler_args told;
 *       if (__margo_internal_finalize_requested(mid)) {
 *           __margo_respond_with_error(handle, HG_PERMISSION);
 *           return margo_destroy(handle);
 *       }
 *       __margo_internal_set_handle_data(handle);
 *       __margo_internal_incr_pending(mid);
 *       __margo_internal_pre_handler_hooks(mid, handle, pool, &told);
 *       ABT_thread_create(pool, (void (*)(void *))_wrapper_for_sum, handle,
 *           ABT_THREAD_ATTR_NULL, NULL);
 *       __margo_internal_post_handler_hooks(mid, &told);
 *       return HG_SUCCESS;
 *   } */
#ifndef MARGO_HANDLER_H
#define MARGO_HANDLER_H

#include "margo-monitoring.h"
#include "margo-types.h"

/* Bytes of an id: low bytes for the provider, the others for the name. */
#define __MARGO_PROVIDER_ID_SIZE (sizeof(hg_id_t) / 4)
#define __MARGO_RPC_HASH_SIZE    (__MARGO_PROVIDER_ID_SIZE * 3)

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Serve a request in a user-level thread; the handler macros call this.
 *
 * The thread is created in the pool of the RPC and calls `function`. A request
 * beyond the limit of concurrent handlers waits in a queue. A request that the
 * instance rejects as it ends, or for which no thread can be created, is
 * answered with a code, and the log says so.
 *
 * @param handle    [in]  as the callback of the RPC received it
 * @param function  [in]  the program's handler; must call margo_destroy()
 * Owns:      the handle is consumed.
 * Errors:    HG_INVALID_ARG an argument is NULL; nothing was done
 *            HG_NOMEM       no thread could be created
 * Threads:   any thread; never blocks.
 * Undefined: called twice for a request.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_margo_serve(
    hg_handle_t handle, void (*function)(hg_handle_t));

/**
 * Perform one step of serving a request, for programs that write the two
 * functions of a handler by hand.
 *
 * A request that __margo_internal_incr_pending() counts as pending keeps the
 * instance from ending until __margo_internal_post_wrapper_hooks() or, if no
 * thread serves the request, __margo_internal_decr_pending(). The caller of
 * __margo_respond_with_error(), which answers with a code and without an
 * output, still owns the handle. Between the hooks of the wrapper the calling
 * thread is a handler, in which margo_finalize() does not wait.
 * A handler that consists of these steps differs from amalgam_margo_serve() in
 * two ways: the limit of concurrent handlers does not apply; and while the
 * instance ends, calls of the process to itself are rejected like all others,
 * because __margo_internal_finalize_requested() does not know the request.
 * amalgam_margo_serve() serves the process's calls to itself until the end.
 *
 * @param mid     [in]   the instance of the handle
 * @param handle  [in]   as the callback of the RPC received it
 * @param pool    [in]   the pool in which the thread is created
 * @param args    [out]  for the monitor; a post hook gets the struct that its
 *                       pre hook has filled
 * @param ret     [in]   the result of the origin's margo_forward()
 * Owns:      after __margo_internal_set_handle_data() the handle must be freed
 *            by margo_destroy().
 * Errors:    HG_INVALID_ARG the handle is NULL, or of no instance
 *            HG_NOMEM       no memory
 *            The other functions cannot fail; if mid is NULL they do nothing.
 * Threads:   any thread; never blocks.
 * Undefined: calls in another order.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int __margo_internal_finalize_requested(margo_instance_id mid);
HG_PUBLIC void __margo_respond_with_error(hg_handle_t handle, hg_return_t ret);
HG_PUBLIC hg_return_t __margo_internal_set_handle_data(hg_handle_t handle);
HG_PUBLIC void __margo_internal_incr_pending(margo_instance_id mid);
HG_PUBLIC void __margo_internal_decr_pending(margo_instance_id mid);
HG_PUBLIC void __margo_internal_pre_handler_hooks(margo_instance_id mid,
    hg_handle_t handle, ABT_pool pool,
    struct margo_monitor_rpc_handler_args *args);
HG_PUBLIC void __margo_internal_post_handler_hooks(
    margo_instance_id mid, struct margo_monitor_rpc_handler_args *args);
HG_PUBLIC void __margo_internal_pre_wrapper_hooks(margo_instance_id mid,
    hg_handle_t handle, struct margo_monitor_rpc_ult_args *args);
HG_PUBLIC void __margo_internal_post_wrapper_hooks(
    margo_instance_id mid, struct margo_monitor_rpc_ult_args *args);

#ifdef __cplusplus
}
#endif

#define DECLARE_MARGO_RPC_HANDLER(name_)                                       \
    hg_return_t _handler_for_##name_(hg_handle_t handle);

#define DEFINE_MARGO_RPC_HANDLER(name_)                                        \
    __MARGO_INTERNAL_RPC_WRAPPER(name_)                                        \
    __MARGO_INTERNAL_RPC_HANDLER(name_)

/* The two functions and their bodies; `static` or `inline` may be in front. */
#define __MARGO_INTERNAL_RPC_WRAPPER_BODY(name_)                               \
    margo_instance_id mid_ = margo_hg_handle_get_instance(handle);             \
    struct margo_monitor_rpc_ult_args told_;                                   \
    __margo_internal_pre_wrapper_hooks(mid_, handle, &told_);                  \
    name_(handle);                                                             \
    __margo_internal_post_wrapper_hooks(mid_, &told_);
#define __MARGO_INTERNAL_RPC_WRAPPER(name_)                                    \
    void _wrapper_for_##name_(hg_handle_t handle);                             \
    void _wrapper_for_##name_(hg_handle_t handle)                              \
    {                                                                          \
        __MARGO_INTERNAL_RPC_WRAPPER_BODY(name_)                               \
    }
#define __MARGO_INTERNAL_RPC_HANDLER_BODY(name_)                               \
    return amalgam_margo_serve(handle, _wrapper_for_##name_);
#define __MARGO_INTERNAL_RPC_HANDLER(name_)                                    \
    hg_return_t _handler_for_##name_(hg_handle_t handle)                       \
    {                                                                          \
        __MARGO_INTERNAL_RPC_HANDLER_BODY(name_)                               \
    }

#endif
