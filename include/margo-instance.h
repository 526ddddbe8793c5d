/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances: creation, references and teardown.
 *
 * An instance begins with one reference, which the first margo_finalize()
 * releases when the instance no longer serves calls. The class, the context and
 * the pools stay until the last reference is released: with a reference, a
 * program can free addresses, handles, bulk handles and decoded structs after
 * margo_finalize(). The release of the last reference ends an instance that was
 * not finalized. */
#ifndef MARGO_INSTANCE_H
#define MARGO_INSTANCE_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an instance: a class, a user-level thread that makes progress, and
 * pools for handlers.
 *
 * Calls ABT_init() if the program has not, and ABT_finalize() when the instance
 * has ended.
 *
 * @param addr_str             [in]  as for HG_Init(): "tcp", "na+sm",
 *                                   "ofi+tcp://host:port"
 * @param mode                 [in]  MARGO_SERVER_MODE: others may call this
 *                                   process; MARGO_CLIENT_MODE
 * @param use_progress_thread  [in]  0: the progress loop runs in the caller's
 *                                   stream; else in a stream of its own
 * @param rpc_thread_count     [in]  0: handlers run in the caller's stream; -1:
 *                                   in the stream of the progress loop; n: in
 *                                   n streams of their own
 * Owns:      the caller owns the result; margo_finalize() frees it.
 * Errors:    MARGO_INSTANCE_NULL on any failure; the log says why, and nothing
 *            is left behind.
 * Threads:   one thread at a time. If ABT_init() is called, the caller becomes
 *            the primary user-level thread.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC margo_instance_id margo_init(const char *addr_str, int mode,
    int use_progress_thread, int rpc_thread_count);

/**
 * Create an instance as margo_init() does, with all options.
 *
 * @param addr_str  [in]  may be NULL if `args` has a class
 * @param mode      [in]  MARGO_SERVER_MODE: others may call this process;
 *                        MARGO_CLIENT_MODE
 * @param args      [in]  NULL: all defaults
 * Owns:      the caller owns the result; margo_finalize() frees it. For the
 *            fields of `args` see `struct margo_init_info`.
 * Errors:    MARGO_INSTANCE_NULL on any failure; the log says why, and names an
 *            invalid field of the JSON text. Nothing is left behind.
 * Threads:   one thread at a time. If ABT_init() is called, the caller becomes
 *            the primary user-level thread.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC margo_instance_id margo_init_ext(
    const char *addr_str, int mode, const struct margo_init_info *args);

/**
 * Create an instance as margo_init() does, with options of the class.
 *
 * @param addr_str             [in]  as for margo_init()
 * @param mode                 [in]  MARGO_SERVER_MODE: others may call this
 *                                   process; MARGO_CLIENT_MODE
 * @param hg_init_info         [in]  NULL: none
 * @param use_progress_thread  [in]  as for margo_init()
 * @param rpc_thread_count     [in]  as for margo_init()
 * Owns:      the caller owns the result; margo_finalize() frees it.
 * Errors:    MARGO_INSTANCE_NULL on any failure; the log says why, and nothing
 *            is left behind.
 * Threads:   one thread at a time.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
DEPRECATED("use margo_init_ext()")
HG_PUBLIC margo_instance_id margo_init_opt(const char *addr_str, int mode,
    const struct hg_init_info *hg_init_info, int use_progress_thread,
    int rpc_thread_count);

/**
 * Create an instance that uses pools and a context of the program.
 *
 * @param progress_pool  [in]  the pool of the progress loop
 * @param handler_pool   [in]  the pool of the handlers
 * @param hg_context     [in]  the context that the instance uses
 * Owns:      the caller owns the result; margo_finalize() frees it. The
 *            context, its class and the pools stay the caller's.
 * Errors:    MARGO_INSTANCE_NULL on any failure; the log says why, and nothing
 *            is left behind.
 * Threads:   one thread at a time.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
DEPRECATED("use margo_init_ext()")
HG_PUBLIC margo_instance_id margo_init_pool(
    ABT_pool progress_pool, ABT_pool handler_pool, hg_context_t *hg_context);

/**
 * Set the stack size and the stack cache of the next ABT_init().
 *
 * For programs that call ABT_init() before margo_init().
 *
 * @param optional_json_config  [in]  the "argobots" object of the text is read;
 *                                    NULL: stacks of 2 MiB; a stream
 *                                    keeps up to 8 free ones
 * Owns:      nothing changes hands.
 * Errors:    -1 the text is invalid, or ABT_init() was called; see log
 * Threads:   one thread at a time.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_environment(const char *optional_json_config);

/**
 * End an instance, or begin to end it.
 *
 * Prefinalize callbacks run first, while calls still work; then calls in flight
 * and handlers end, then the finalize callbacks run. All of this is done when
 * margo_finalize() returns, but for two cases. If a handler or a callback calls
 * margo_finalize(), the end comes after the handler or callback returned. If a
 * thread other than the primary one calls margo_finalize() while handlers run,
 * the end comes after the last handler: a handler might wait for that thread.
 * margo_wait_for_finalize() waits for the end.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      a reference is consumed; class, context and pools stay, without
 *            progress, until the last reference is released.
 * Errors:    none; the log names an instance that is NULL or has ended.
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: use of the instance afterwards, except by its handlers and
 *            callbacks, by margo_wait_for_finalize(), and with a reference.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_finalize(margo_instance_id mid);

/**
 * Wait until margo_finalize() has ended the instance.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the instance is destroyed, unless references remain.
 * Errors:    none; the log names a NULL instance.
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile. A handler or a callback of the instance would wait for
 *            itself: the call is refused, and logged.
 * Undefined: called after the instance has ended, without a reference.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_wait_for_finalize(margo_instance_id mid);

/**
 * End an instance, and wait until it has ended.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the instance is consumed, unless references remain.
 * Errors:    none; the log names a NULL instance.
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile. In a handler or a callback of the instance the call
 *            only begins the end, as margo_finalize() does, and is logged.
 * Undefined: the instance used afterwards, without a reference.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_finalize_and_wait(margo_instance_id mid);

/**
 * Tell whether an instance is finalized: its finalize callbacks have run.
 *
 * The caller holds a reference to the instance.
 *
 * @param mid   [in]   the Margo instance
 * @param flag  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid or flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance is destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_instance_is_finalized(
    margo_instance_id mid, bool *flag);

/**
 * Take a reference to an instance, which keeps the class, the context and the
 * pools after margo_finalize().
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the caller owns the new reference; margo_instance_release()
 *            releases it.
 * Errors:    HG_INVALID_ARG mid is NULL, or destroyed
 * Threads:   any thread; never blocks.
 * Undefined: the instance is destroyed during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_instance_ref_incr(margo_instance_id mid);

/**
 * Get the number of references to an instance.
 *
 * @param mid       [in]   the Margo instance
 * @param refcount  [out]  the number of references
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG mid or refcount is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_instance_ref_count(
    margo_instance_id mid, unsigned *refcount);

/**
 * Release a reference to an instance.
 *
 * The last release ends an instance that was not finalized, as margo_finalize()
 * does. If the instance was finalized, the last release closes its class and
 * its context, and destroys its pools.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      a reference is consumed.
 * Errors:    HG_INVALID_ARG mid is NULL or destroyed, or it is ending and its
 *                           only reference is that of margo_finalize()
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance used afterwards, without another reference.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_return_t margo_instance_release(margo_instance_id mid);

/**
 * Tell whether other processes may call this one.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    NULL gives HG_FALSE.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_bool_t margo_is_listening(margo_instance_id mid);

/**
 * Get the context of an instance.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the result is borrowed from the instance.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_context_t *margo_get_context(margo_instance_id mid);

/**
 * Get the class of an instance.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      the result is borrowed from the instance.
 * Errors:    NULL gives NULL.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC hg_class_t *margo_get_class(margo_instance_id mid);

/**
 * Allow other processes to end this instance by
 * margo_shutdown_remote_instance().
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    a failure is logged.
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_enable_remote_shutdown(margo_instance_id mid);

/**
 * End an instance of another process, which must have called
 * margo_enable_remote_shutdown().
 *
 * @param mid          [in]  the Margo instance
 * @param remote_addr  [in]  an address of that process
 * Owns:      nothing changes hands.
 * Errors:    -1 the instance cannot be reached, or refuses; the log says which
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_shutdown_remote_instance(
    margo_instance_id mid, hg_addr_t remote_addr);

#ifdef __cplusplus
}
#endif

#endif
