/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries about a user-level thread, and its settings. */
#ifndef ABT_THREAD_INFO_H
#define ABT_THREAD_INFO_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set the function that is called when a thread migrates.
 *
 * @param thread   [in]  the thread
 * @param cb_func  [in]  NULL: no function
 * @param cb_arg   [in]  passed to the function
 * Owns:      `cb_arg` must live until the thread is freed.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_set_callback(ABT_thread thread,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg);

/**
 * Choose whether a thread may migrate.
 *
 * @param thread      [in]  the thread
 * @param migratable  [in]  ABT_TRUE: yes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_THREAD  the thread is primary
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_set_migratable(
    ABT_thread thread, ABT_bool migratable);

/**
 * Tell whether a thread may migrate.
 *
 * @param thread         [in]  the thread
 * @param is_migratable  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  is_migratable is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_is_migratable(
    ABT_thread thread, ABT_bool *is_migratable);

/**
 * Tell whether a thread is the primary thread, which called ABT_init().
 *
 * @param thread      [in]  the thread
 * @param is_primary  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  is_primary is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_is_primary(
    ABT_thread thread, ABT_bool *is_primary);

/**
 * Tell whether a thread is unnamed, and so is freed when it ends.
 *
 * @param thread      [in]  the thread
 * @param is_unnamed  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  is_unnamed is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_is_unnamed(
    ABT_thread thread, ABT_bool *is_unnamed);

/**
 * Tell whether two threads are the same.
 *
 * @param thread1  [in]  the thread
 * @param thread2  [in]  the thread
 * @param result   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  result is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_equal(
    ABT_thread thread1, ABT_thread thread2, ABT_bool *result);

/**
 * Get the size of a thread's stack in bytes; 0 if the thread has no own stack.
 *
 * @param thread     [in]  the thread
 * @param stacksize  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  stacksize is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_stacksize(
    ABT_thread thread, size_t *stacksize);

/**
 * Get the lowest address and the size of a thread's stack; NULL and 0 if the
 * thread has no own stack. The library may use less than 4 KiB at the upper end
 * for the thread's state.
 *
 * @param thread     [in]  the thread
 * @param stackaddr  [out]  the address; NULL: not wanted
 * @param stacksize  [out]  the size in bytes; NULL: not wanted
 * Owns:      the stack is borrowed from the thread.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots after 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_stack(
    ABT_thread thread, void **stackaddr, size_t *stacksize);

/**
 * Get the number of a thread, unique in the process and never reused.
 *
 * @param thread     [in]  the thread
 * @param thread_id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  thread_id is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_id(ABT_thread thread, ABT_unit_id *thread_id);

/**
 * Change the argument of a thread that has not started to run.
 *
 * @param thread  [in]  the thread
 * @param arg     [in]  the new argument
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_set_arg(ABT_thread thread, void *arg);

/**
 * Get the argument of a thread.
 *
 * @param thread  [in]  the thread
 * @param arg     [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  arg is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_arg(ABT_thread thread, void **arg);

/**
 * Get the function of a thread.
 *
 * @param thread       [in]  the thread
 * @param thread_func  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  thread_func is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_thread_func(
    ABT_thread thread, void (**thread_func)(void *));

/**
 * Set the value of a key for a thread.
 *
 * @param thread  [in]  the thread
 * @param key     [in]  the key
 * @param value   [in]  passed to the key's destructor when the thread is freed
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread, one at a time per thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_set_specific(
    ABT_thread thread, ABT_key key, void *value);

/**
 * Get the value of a key for a thread, or NULL if it was not set.
 *
 * @param thread  [in]  the thread
 * @param key     [in]  the key
 * @param value   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_ARG  value is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_specific(
    ABT_thread thread, ABT_key key, void **value);

/**
 * Get the attributes of a thread.
 *
 * @param thread  [in]  the thread
 * @param attr    [out]  the attributes
 * Owns:      the caller owns the result; ABT_thread_attr_free() frees it.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  attr is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_attr(
    ABT_thread thread, ABT_thread_attr *attr);

#ifdef __cplusplus
}
#endif

#endif
