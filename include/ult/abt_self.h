/* SPDX-License-Identifier: BSD-3-Clause */
/* What a thread asks of itself, and how it leaves its stream. */
#ifndef ABT_SELF_H
#define ABT_SELF_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The caller's stream.
 *
 * @param xstream  [out]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  xstream is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on none
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_xstream(ABT_xstream *xstream);

/**
 * The rank of the caller's stream.
 *
 * @param rank  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  rank is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on none
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_xstream_rank(int *rank);

/**
 * The calling thread or tasklet.
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
 * Its number.
 *
 * @param id  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  id is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_thread_id(ABT_unit_id *id);

/* The same, in words of tasklets. */
#define ABT_self_get_task    ABT_self_get_thread
#define ABT_self_get_task_id ABT_self_get_thread_id

/**
 * What the caller is; ABT_UNIT_TYPE_EXT for an OS thread that is no stream.
 *
 * @param type  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  type is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_type(ABT_unit_type *type);

/**
 * Is the caller the one that called ABT_init()?
 *
 * @param is_primary  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  is_primary is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_is_primary(ABT_bool *is_primary);

/**
 * Is the caller on the primary stream?
 *
 * @param on_primary  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  on_primary is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_on_primary_xstream(ABT_bool *on_primary);

/**
 * Does the caller free itself when it ends?
 *
 * @param is_unnamed  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  is_unnamed is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_is_unnamed(ABT_bool *is_unnamed);

/**
 * Its pool.
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
 * The number of its pool.
 *
 * @param pool_id  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  pool_id is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_last_pool_id(int *pool_id);

/**
 * Say where the caller is pushed when it next yields or is resumed.
 *
 * @param pool  [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_set_associated_pool(ABT_pool pool);

/**
 * The unit that stands for the caller.
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
 * Change its argument.
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
 * Its argument.
 *
 * @param arg  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  arg is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_arg(void **arg);

/**
 * Its function.
 *
 * @param thread_func  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  thread_func is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_thread_func(void (**thread_func)(void *));

/**
 * Set its value of a key.
 *
 * @param key    [in]  the key
 * @param value  [in]  handed to the key's destructor when the thread is freed
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_set_specific(ABT_key key, void *value);

/**
 * Its value of a key; NULL: it was not set.
 *
 * @param key    [in]  the key
 * @param value  [out]  the answer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_ARG  value is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_get_specific(ABT_key key, void **value);

/**
 * Let others run.
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
 * Go on with a thread that is ready; the caller is pushed into its pool.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not ready
 * Threads:   a user-level thread; yields.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_yield_to(ABT_thread thread);

/**
 * Go on with a thread that is suspended; the caller is pushed into its pool.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not suspended
 * Threads:   a user-level thread; yields.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_yield_to(ABT_thread thread);

/**
 * Stop until ABT_thread_resume().
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
 * The same, and go on with a thread that is ready.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not ready
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_suspend_to(ABT_thread thread);

/**
 * The same, and go on with a thread that is suspended.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not suspended
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_suspend_to(ABT_thread thread);

/**
 * End the calling thread.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is none, or
 *              the primary one
 * Threads:   a user-level thread; does not return.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_exit(void);

/**
 * End the calling thread, and go on with one that is ready.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not ready; the caller is
 *              the primary one
 * Threads:   a user-level thread; does not return.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_exit_to(ABT_thread thread);

/**
 * End the calling thread, and go on with one that is suspended.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  it is the caller, or not suspended; the
 *              caller is the primary one
 * Threads:   a user-level thread; does not return.
 * Undefined: the object is freed meanwhile.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_resume_exit_to(ABT_thread thread);

#ifdef __cplusplus
}
#endif

#endif
