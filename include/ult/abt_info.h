/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration and state of the runtime. */
#ifndef ABT_INFO_H
#define ABT_INFO_H

#include "abt_types.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get one value of the configuration.
 *
 * @param query_kind  [in]  names the value
 * @param val         [out]  the value; for its type see ABT_info_query_kind
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  val is NULL
 *            ABT_ERR_INV_QUERY_KIND  no such value
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_query_config(
    ABT_info_query_kind query_kind, void *val);

/**
 * Print the configuration.
 *
 * @param fp  [in]  the stream to write to
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_config(FILE *fp);

/**
 * Print the state of all execution streams.
 *
 * @param fp  [in]  the stream to write to
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  fp is NULL
 *            ABT_ERR_UNINITIALIZED  not between ABT_init() and ABT_finalize()
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_all_xstreams(FILE *fp);

/**
 * Print the state of an execution stream.
 *
 * @param fp       [in]  the stream to write to
 * @param xstream  [in]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_xstream(FILE *fp, ABT_xstream xstream);

/**
 * Print the pools and the state of a scheduler.
 *
 * @param fp     [in]  the stream to write to
 * @param sched  [in]  the scheduler
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_sched(FILE *fp, ABT_sched sched);

/**
 * Print the state of a pool.
 *
 * @param fp    [in]  the stream to write to
 * @param pool  [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_pool(FILE *fp, ABT_pool pool);

/**
 * Print the properties of a thread.
 *
 * @param fp      [in]  the stream to write to
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_thread(FILE *fp, ABT_thread thread);

/**
 * Print thread attributes.
 *
 * @param fp    [in]  the stream to write to
 * @param attr  [in]  the attributes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD_ATTR  attr is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_thread_attr(FILE *fp, ABT_thread_attr attr);

/**
 * Print the properties of a tasklet.
 *
 * @param fp    [in]  the stream to write to
 * @param task  [in]  the tasklet
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TASK  task is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_task(FILE *fp, ABT_task task);

/**
 * Print the used bytes of a thread's stack.
 *
 * @param fp      [in]  the stream to write to
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 *            ABT_ERR_INV_THREAD  the thread runs or ended, or has no own stack
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_thread_stack(FILE *fp, ABT_thread thread);

/**
 * Print the used bytes of the stacks of all ready threads of a pool.
 *
 * @param fp    [in]  the stream to write to
 * @param pool  [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  fp is NULL
 * Threads:   any thread; no thread may pop from the pool meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_info_print_thread_stacks_in_pool(
    FILE *fp, ABT_pool pool);

/**
 * Not available: print the stacks of all threads while all streams are stopped.
 *
 * @param fp       [in]  not used
 * @param timeout  [in]  not used
 * @param cb_func  [in]  not called
 * @param arg      [in]  not used
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_FEATURE_NA  always: see
 *              ABT_info_print_thread_stacks_in_pool()
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as an Argobots 1.2 that was built without this feature.
 */
ABT_API_PUBLIC int ABT_info_trigger_print_all_thread_stacks(
    FILE *fp, double timeout, void (*cb_func)(ABT_bool, void *), void *arg);

#ifdef __cplusplus
}
#endif

#endif
