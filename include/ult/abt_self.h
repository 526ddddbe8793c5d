/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries about the calling thread, and switches to other threads. */
#ifndef ABT_SELF_H
#define ABT_SELF_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the caller's stream.
 *
 * @param xstream  [out]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  xstream is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_xstream(ABT_xstream *xstream);

/**
 * Get the rank of the caller's stream.
 *
 * @param rank  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  rank is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_xstream_rank(int *rank);

/**
 * Get the calling thread or tasklet.
 *
 * @param thread  [out]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_thread(ABT_thread *thread);

/**
 * Get the number of the calling thread.
 *
 * @param id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  id is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_thread_id(ABT_unit_id *id);

/* Names of the last two functions for tasklets. */
#define ABT_self_get_task    ABT_self_get_thread
#define ABT_self_get_task_id ABT_self_get_thread_id

/**
 * Get the kind of the caller; ABT_UNIT_TYPE_EXT for an OS thread that is no
 * stream.
 *
 * @param type  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  type is NULL
 *            ABT_ERR_UNINITIALIZED  before ABT_init(); ABT_UNIT_TYPE_EXT was
 *              written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_type(ABT_unit_type *type);

/**
 * Tell whether the caller is the thread that called ABT_init().
 *
 * @param is_primary  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  is_primary is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_is_primary(ABT_bool *is_primary);

/**
 * Tell whether the caller is on the primary stream.
 *
 * @param on_primary  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  on_primary is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_on_primary_xstream(ABT_bool *on_primary);

/**
 * Tell whether the caller is unnamed, and so is freed when it ends.
 *
 * @param is_unnamed  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  is_unnamed is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_is_unnamed(ABT_bool *is_unnamed);

/**
 * Get the pool of the calling thread.
 *
 * @param pool  [out]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  pool is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_last_pool(ABT_pool *pool);

/**
 * Get the number of the pool of the calling thread.
 *
 * @param pool_id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  pool_id is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_last_pool_id(int *pool_id);

/**
 * Choose the pool into which the caller is pushed when it next yields or is
 * resumed.
 *
 * @param pool  [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_set_associated_pool(ABT_pool pool);

/**
 * Get the unit of the caller.
 *
 * @param unit  [out]  the unit
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  unit is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_unit(ABT_unit *unit);

/**
 * Change the argument of the calling thread.
 *
 * @param arg  [in]  for ABT_self_get_arg()
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_set_arg(void *arg);

/**
 * Get the argument of the calling thread.
 *
 * @param arg  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  arg is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_arg(void **arg);

/**
 * Get the function of the calling thread.
 *
 * @param thread_func  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  thread_func is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_thread_func(void (**thread_func)(void *));

/**
 * Set the calling thread's value of a key.
 *
 * @param key    [in]  the key
 * @param value  [in]  passed to the key's destructor when the thread is freed
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_set_specific(ABT_key key, void *value);

/**
 * Get the calling thread's value of a key, or NULL if it was not set.
 *
 * @param key    [in]  the key
 * @param value  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_ARG  value is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_specific(ABT_key key, void **value);

/**
 * Let other threads of the stream run.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is no
 *              user-level thread
 * Threads:   a user-level thread; yields.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_yield(void);

/**
 * Yield to a ready thread, by a direct switch.
 *
 * @param thread  [in]  the thread, in its pool or popped
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not ready
 * Threads:   a user-level thread; yields.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_yield_to(ABT_thread thread);

/**
 * Resume a suspended thread, and yield to that thread by a direct switch.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not suspended
 * Threads:   a user-level thread; yields.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_yield_to(ABT_thread thread);

/**
 * Suspend the calling thread until ABT_thread_resume().
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is no
 *              user-level thread
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_suspend(void);

/**
 * Suspend the calling thread, and switch to a ready thread.
 *
 * @param thread  [in]  the thread, in its pool or popped
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not ready
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_suspend_to(ABT_thread thread);

/**
 * Suspend the calling thread, and switch to a suspended thread.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not suspended
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_suspend_to(ABT_thread thread);

/**
 * End the calling thread.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is no
 *              user-level thread, or is the primary thread
 * Threads:   a user-level thread; does not return.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_exit(void);

/**
 * End the calling thread, and switch to a ready thread.
 *
 * @param thread  [in]  the thread, in its pool or popped
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not ready; or the
 *              caller is the primary thread
 * Threads:   a user-level thread; does not return.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_exit_to(ABT_thread thread);

/**
 * End the calling thread, and switch to a suspended thread.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  thread is the caller, or not suspended; or
 *              the caller is the primary thread
 * Threads:   a user-level thread; does not return.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_exit_to(ABT_thread thread);

#ifdef __cplusplus
}
#endif

#endif
