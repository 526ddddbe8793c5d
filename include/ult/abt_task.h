/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasklets: threads without a stack of their own, which cannot wait. */
#ifndef ABT_TASK_H
#define ABT_TASK_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a tasklet, ready in a pool.
 *
 * @param pool       [in]  the pool
 * @param task_func  [in]  the function of the tasklet
 * @param arg        [in]  passed to the function
 * @param newtask    [out]  NULL: the tasklet is unnamed, freed when it ends
 * Owns:      the caller owns the result; ABT_task_free() frees it.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  task_func is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_create(
    ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *newtask);

/**
 * Create a tasklet, ready in the first pool of a stream.
 *
 * @param xstream    [in]  the stream
 * @param task_func  [in]  the function of the tasklet
 * @param arg        [in]  passed to the function
 * @param newtask    [out]  as for ABT_task_create()
 * Owns:      the caller owns the result; ABT_task_free() frees it.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  task_func is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_create_on_xstream(ABT_xstream xstream,
    void (*task_func)(void *), void *arg, ABT_task *newtask);

/**
 * Revive a tasklet that has ended, with a new function.
 *
 * @param pool       [in]  the pool
 * @param task_func  [in]  the function of the tasklet
 * @param arg        [in]  passed to the function
 * @param task       [in,out]  the tasklet; its handle stays valid
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  task is NULL
 *            ABT_ERR_INV_TASK  the tasklet has not ended
 *            ABT_ERR_INV_ARG  task_func is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_revive(
    ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *task);

/**
 * Join a tasklet, and destroy it.
 *
 * @param task  [in,out]  the tasklet; becomes ABT_TASK_NULL
 * Owns:      the tasklet is consumed.
 * Errors:    ABT_ERR_INV_TASK  *task is ABT_TASK_NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_free(ABT_task *task);

/**
 * Wait until a tasklet has ended.
 *
 * @param task  [in]  the tasklet
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_join(ABT_task task);

/**
 * Request that a tasklet ends without running.
 *
 * @param task  [in]  the tasklet
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_cancel(ABT_task task);

/**
 * Get the calling tasklet.
 *
 * @param task  [out]  the tasklet
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  task is NULL
 *            ABT_ERR_INV_XSTREAM, ABT_ERR_INV_TASK  the caller is no tasklet;
 *              ABT_TASK_NULL was written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_self(ABT_task *task);

/**
 * Get the number of the calling tasklet.
 *
 * @param id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  id is NULL
 *            ABT_ERR_INV_XSTREAM, ABT_ERR_INV_TASK  the caller is no tasklet
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_self_id(ABT_unit_id *id);

/**
 * Get the stream that runs a tasklet, or ran it.
 *
 * @param task     [in]  the tasklet
 * @param xstream  [out]  ABT_XSTREAM_NULL: no stream has run it
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  xstream is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_xstream(ABT_task task, ABT_xstream *xstream);

/**
 * Get the state of a tasklet.
 *
 * @param task   [in]  the tasklet
 * @param state  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  state is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_state(ABT_task task, ABT_task_state *state);

/**
 * Get the pool of a tasklet.
 *
 * @param task  [in]  the tasklet
 * @param pool  [out]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  pool is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_last_pool(ABT_task task, ABT_pool *pool);

/**
 * Get the number of the pool of a tasklet.
 *
 * @param task  [in]  the tasklet
 * @param id    [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  id is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_last_pool_id(ABT_task task, int *id);

/**
 * Choose whether a tasklet may migrate.
 *
 * @param task  [in]  the tasklet
 * @param flag  [in]  ABT_TRUE: yes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_set_migratable(ABT_task task, ABT_bool flag);

/**
 * Tell whether a tasklet may migrate.
 *
 * @param task  [in]  the tasklet
 * @param flag  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_is_migratable(ABT_task task, ABT_bool *flag);

/**
 * Tell whether a tasklet is unnamed, and so is freed when it ends.
 *
 * @param task  [in]  the tasklet
 * @param flag  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  flag is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_is_unnamed(ABT_task task, ABT_bool *flag);

/**
 * Tell whether two tasklets are the same.
 *
 * @param task1   [in]  the tasklet
 * @param task2   [in]  the tasklet
 * @param result  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  result is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_equal(
    ABT_task task1, ABT_task task2, ABT_bool *result);

/**
 * Get the number of a tasklet, unique in the process and never reused.
 *
 * @param task     [in]  the tasklet
 * @param task_id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  task_id is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_id(ABT_task task, ABT_unit_id *task_id);

/**
 * Get the argument of a tasklet.
 *
 * @param task  [in]  the tasklet
 * @param arg   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  arg is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_arg(ABT_task task, void **arg);

/**
 * Set the value of a key for a tasklet.
 *
 * @param task   [in]  the tasklet
 * @param key    [in]  the key
 * @param value  [in]  passed to the key's destructor when the tasklet is freed
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_set_specific(
    ABT_task task, ABT_key key, void *value);

/**
 * Get the value of a key for a tasklet, or NULL if it was not set.
 *
 * @param task   [in]  the tasklet
 * @param key    [in]  the key
 * @param value  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_ARG  value is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_task_get_specific(
    ABT_task task, ABT_key key, void **value);

#ifdef __cplusplus
}
#endif

#endif
