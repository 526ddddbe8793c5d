/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of user-level threads. */
#ifndef ABT_THREAD_ATTR_H
#define ABT_THREAD_ATTR_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create thread attributes with the defaults.
 *
 * @param newattr  [out]  the attributes
 * Owns:      the caller owns the result; ABT_thread_attr_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newattr is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_create(ABT_thread_attr *newattr);

/**
 * Destroy attributes of threads.
 *
 * @param attr  [in,out]  the attributes; becomes ABT_THREAD_ATTR_NULL
 * Owns:      the attributes are consumed; threads created with them are not
 *            affected.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  *attr is ABT_THREAD_ATTR_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_free(ABT_thread_attr *attr);

/**
 * Set the program's stack for a thread with these attributes.
 *
 * @param attr       [in]  the attributes
 * @param stackaddr  [in]  lowest address of the stack, a multiple of 8; NULL:
 *                         the library allocates the stack
 * @param stacksize  [in]  bytes
 * Owns:      the memory stays the caller's and must live until the thread has
 *            ended.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  stackaddr is no multiple of 8, or stacksize is
 *              below 4096 and stackaddr is not NULL
 * Threads:   any thread, one at a time per attr; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_set_stack(
    ABT_thread_attr attr, void *stackaddr, size_t stacksize);

/**
 * Get the stack that thread attributes name.
 *
 * @param attr       [in]  the attributes
 * @param stackaddr  [out]  NULL: the library allocates the stack
 * @param stacksize  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  stackaddr or stacksize is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_get_stack(
    ABT_thread_attr attr, void **stackaddr, size_t *stacksize);

/**
 * Set the size of the stack that the library allocates for a thread with these
 * attributes.
 *
 * @param attr       [in]  the attributes
 * @param stacksize  [in]  bytes; rounded up to pages
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  stacksize is below 4096
 * Threads:   any thread, one at a time per attr; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_set_stacksize(
    ABT_thread_attr attr, size_t stacksize);

/**
 * Get the stack size of thread attributes.
 *
 * @param attr       [in]  the attributes
 * @param stacksize  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  stacksize is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_get_stacksize(
    ABT_thread_attr attr, size_t *stacksize);

/**
 * Set the function that is called when a thread with these attributes migrates.
 *
 * @param attr     [in]  the attributes
 * @param cb_func  [in]  NULL: no function
 * @param cb_arg   [in]  passed to the function
 * Owns:      `cb_arg` must live until the thread is freed.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 * Threads:   any thread, one at a time per attr; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_set_callback(ABT_thread_attr attr,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg);

/**
 * Choose whether a thread with these attributes may migrate.
 *
 * @param attr           [in]  the attributes
 * @param is_migratable  [in]  ABT_TRUE: yes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 * Threads:   any thread, one at a time per attr; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_attr_set_migratable(
    ABT_thread_attr attr, ABT_bool is_migratable);

#ifdef __cplusplus
}
#endif

#endif
