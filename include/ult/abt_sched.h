/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which select the thread that a stream runs next. */
#ifndef ABT_SCHED_H
#define ABT_SCHED_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a user-defined scheduler.
 *
 * @param def        [in]  the functions; only read during the call
 * @param num_pools  [in]  number of pools
 * @param pools      [in]  the pools in order; a new pool for each
 *                         ABT_POOL_NULL; NULL: new pools only
 * @param config     [in]  may be ABT_SCHED_CONFIG_NULL; passed to the
 *                         definition's init
 * @param newsched   [out]  the scheduler
 * Owns:      the caller owns the result; ABT_sched_free() frees it, unless it
 *            is automatic.
 * Errors:    ABT_ERR_INV_ARG  newsched is NULL
 *            ABT_ERR_INV_ARG  def or its function run is NULL, or num_pools is
 *              negative
 *            ABT_ERR_MEM  no memory
 *            and the errors of the definition's init
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_create(ABT_sched_def *def, int num_pools,
    ABT_pool *pools, ABT_sched_config config, ABT_sched *newsched);

/**
 * Create a built-in scheduler.
 *
 * All built-in schedulers sleep while nothing is ready.
 *
 * @param predef     [in]  the kind of scheduler
 * @param num_pools  [in]  number of pools; 0: one new pool
 * @param pools      [in]  the pools in order; a new pool for each
 *                         ABT_POOL_NULL; NULL: new pools only
 * @param config     [in]  may be ABT_SCHED_CONFIG_NULL
 * @param newsched   [out]  the scheduler
 * Owns:      the caller owns the result; ABT_sched_free() frees it, unless it
 *            is automatic, which is the default here.
 * Errors:    ABT_ERR_INV_ARG  newsched is NULL
 *            ABT_ERR_INV_SCHED_PREDEF  no such scheduler
 *            ABT_ERR_INV_ARG  num_pools is negative
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_create_basic(ABT_sched_predef predef,
    int num_pools, ABT_pool *pools, ABT_sched_config config,
    ABT_sched *newsched);

/**
 * Destroy a scheduler and its automatic pools.
 *
 * @param sched  [in,out]  the scheduler; becomes ABT_SCHED_NULL
 * Owns:      the scheduler is consumed.
 * Errors:    ABT_ERR_INV_SCHED  *sched is ABT_SCHED_NULL
 *            ABT_ERR_SCHED  the scheduler is in use; nothing changed
 * Threads:   one thread, when no other uses the scheduler.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_free(ABT_sched *sched);

/**
 * Get the number of pools of a scheduler.
 *
 * @param sched      [in]  the scheduler
 * @param num_pools  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  num_pools is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_get_num_pools(ABT_sched sched, int *num_pools);

/**
 * Get the pools of a scheduler, or some of them.
 *
 * @param sched      [in]  the scheduler
 * @param max_pools  [in]  number of pools to get
 * @param idx        [in]  index of the first pool
 * @param pools      [out]  array of `max_pools`
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  pools is NULL
 *            ABT_ERR_INV_ARG  idx or max_pools is negative, or the scheduler
 *              has fewer than idx + max_pools pools
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_get_pools(
    ABT_sched sched, int max_pools, int idx, ABT_pool *pools);

/**
 * Get the number of threads that are ready in the pools of a scheduler.
 *
 * @param sched  [in]  the scheduler
 * @param size   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  size is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_get_size(ABT_sched sched, size_t *size);

/**
 * Get the number of threads of the pools of a scheduler: ready, blocked or
 * suspended.
 *
 * @param sched  [in]  the scheduler
 * @param size   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  size is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_get_total_size(ABT_sched sched, size_t *size);

/**
 * Ask a scheduler to end when its pools are empty.
 *
 * The scheduler sees the request in its next ABT_sched_has_to_stop(); a
 * scheduler that sleeps is woken.
 *
 * @param sched  [in]  the scheduler
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_finish(ABT_sched sched);

/**
 * Ask a scheduler to end at once; its threads stay in their pools.
 *
 * The scheduler sees the request in its next ABT_sched_has_to_stop(); a
 * scheduler that sleeps is woken.
 *
 * @param sched  [in]  the scheduler
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_exit(ABT_sched sched);

/**
 * Tell the run function of a scheduler whether it must return.
 *
 * @param sched  [in]  the scheduler
 * @param stop   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  stop is NULL
 * Threads:   the stream that runs the scheduler; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_has_to_stop(ABT_sched sched, ABT_bool *stop);

/**
 * Attach a pointer of the program to a scheduler.
 *
 * @param sched  [in]  the scheduler
 * @param data   [in]  not interpreted
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_set_data(ABT_sched sched, void *data);

/**
 * Get the pointer that ABT_sched_set_data() attached, or NULL.
 *
 * @param sched  [in]  the scheduler
 * @param data   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_INV_ARG  data is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_get_data(ABT_sched sched, void **data);

/**
 * Create a configuration of a scheduler.
 *
 * @param config  [out]  the configuration
 * @param ...     [in]  pairs of an ABT_sched_config_var and a value of its
 *                      type, and then ABT_sched_config_var_end
 * Owns:      the caller owns the result; ABT_sched_config_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  config is NULL
 *            ABT_ERR_INV_SCHED_CONFIG  no such type
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the list does not end.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_config_create(ABT_sched_config *config, ...);

/**
 * Read the first values of a configuration of a scheduler.
 *
 * @param config    [in]  the configuration
 * @param num_vars  [in]  number of values
 * @param ...       [out]  addresses for the values of index 0, 1 ...; NULL is
 *                         skipped, and so is a value that was not set
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED_CONFIG  config is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_config_read(
    ABT_sched_config config, int num_vars, ...);

/**
 * Set a value in a scheduler configuration.
 *
 * @param config  [in]  the configuration
 * @param idx     [in]  of an ABT_sched_config_var
 * @param type    [in]  of the value
 * @param val     [in]  the value, which is copied; NULL: remove the value
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED_CONFIG  config is NULL
 *            ABT_ERR_INV_ARG  no such type
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread, one at a time per configuration; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_config_set(ABT_sched_config config, int idx,
    ABT_sched_config_type type, const void *val);

/**
 * Read a value of a configuration of a scheduler.
 *
 * @param config  [in]  the configuration
 * @param idx     [in]  index of the value
 * @param type    [out]  may be NULL
 * @param val     [out]  room for an int, a double or a pointer; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED_CONFIG  config is NULL
 *            ABT_ERR_INV_ARG  the value was not set
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_config_get(
    ABT_sched_config config, int idx, ABT_sched_config_type *type, void *val);

/**
 * Destroy a configuration of a scheduler.
 *
 * @param config  [in,out]  the configuration; becomes ABT_SCHED_CONFIG_NULL
 * Owns:      the configuration is consumed.
 * Errors:    ABT_ERR_INV_SCHED_CONFIG  *config is ABT_SCHED_CONFIG_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_sched_config_free(ABT_sched_config *config);

#ifdef __cplusplus
}
#endif

#endif
