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
 *       sum(handle);
 *   }
 *   hg_return_t _handler_for_sum(hg_handle_t handle)
 *   {
 *       return amalgam_margo_serve(handle, _wrapper_for_sum);
 *   }
 *
 * of which the second is what MARGO_REGISTER() gives to the library. */
#ifndef MARGO_HANDLER_H
#define MARGO_HANDLER_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Let a user-level thread serve a request; what the handler macros call.
 *
 * It is made in the pool of the RPC and calls `function`. Beyond the number of
 * handlers that may run at once it waits in a queue. Where the instance is
 * ending, or no thread can be made, the request is answered with a code, and
 * the log says so.
 *
 * @param handle    [in]  as the callback of the RPC has got it
 * @param function  [in]  the program's; is to end in margo_destroy()
 * Owns:      the handle is taken, as by the callback.
 * Errors:    HG_INVALID_ARG an argument is NULL, or the handle is of no
 *                           instance
 * Threads:   any thread; never blocks.
 * Undefined: called twice for a request.
 * Source:    ours.
 */
HG_PUBLIC hg_return_t amalgam_margo_serve(
    hg_handle_t handle, void (*function)(hg_handle_t));

#ifdef __cplusplus
}
#endif

#define DECLARE_MARGO_RPC_HANDLER(name_)                                       \
    hg_return_t _handler_for_##name_(hg_handle_t handle);

#define DEFINE_MARGO_RPC_HANDLER(name_)                                        \
    __MARGO_INTERNAL_RPC_WRAPPER(name_)                                        \
    __MARGO_INTERNAL_RPC_HANDLER(name_)

/* The two functions, and what stands in them; `static` or `inline` may be put
 * in front. */
#define __MARGO_INTERNAL_RPC_WRAPPER_BODY(name_) name_(handle);
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
