/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined pools: definitions, configuration, units. */
#ifndef ABT_POOL_DEF_H
#define ABT_POOL_DEF_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a definition of a pool, with the required functions.
 *
 * @param p_create_unit  [in]  creates the unit of a thread
 * @param p_free_unit    [in]  frees a unit
 * @param p_is_empty     [in]  tells whether the pool is empty
 * @param p_pop          [in]  pops a thread
 * @param p_push         [in]  pushes a unit
 * @param newdef         [out]  the definition
 * Owns:      the caller owns the result; ABT_pool_user_def_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newdef is NULL
 *            ABT_ERR_INV_ARG  one of the functions is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_create(
    ABT_pool_user_create_unit_fn p_create_unit,
    ABT_pool_user_free_unit_fn p_free_unit,
    ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
    ABT_pool_user_push_fn p_push, ABT_pool_user_def *newdef);

/**
 * Destroy a definition of a pool; pools created from the definition stay.
 *
 * @param def  [in,out]  the definition; becomes ABT_POOL_USER_DEF_NULL
 * Owns:      the definition is consumed.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  *def is ABT_POOL_USER_DEF_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_free(ABT_pool_user_def *def);

/**
 * Set the function that is called for each new pool of the definition.
 *
 * @param def     [in]  the definition
 * @param p_init  [in]  NULL: no function
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_init(
    ABT_pool_user_def def, ABT_pool_user_init_fn p_init);

/**
 * Set the function that is called when a pool of the definition is freed.
 *
 * @param def     [in]  the definition
 * @param p_free  [in]  NULL: no function
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_free(
    ABT_pool_user_def def, ABT_pool_user_free_fn p_free);

/**
 * Set the function that counts the ready units of a pool.
 *
 * @param def         [in]  the definition
 * @param p_get_size  [in]  NULL: the library counts pushes and pops
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_get_size(
    ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size);

/**
 * Set the function that waits for the next unit of a pool.
 *
 * @param def         [in]  the definition
 * @param p_pop_wait  [in]  NULL: the library waits for pushes
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_pop_wait(
    ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait);

/**
 * Set the function that pops several units of a pool.
 *
 * @param def         [in]  the definition
 * @param p_pop_many  [in]  NULL: units are popped one by one
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_pop_many(
    ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many);

/**
 * Set the function that pushes several units into a pool.
 *
 * @param def          [in]  the definition
 * @param p_push_many  [in]  NULL: units are pushed one by one
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_push_many(
    ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many);

/**
 * Set the function that visits the ready units of a pool.
 *
 * @param def          [in]  the definition
 * @param p_print_all  [in]  NULL: ABT_pool_print_all() returns ABT_ERR_POOL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def is NULL
 *            ABT_ERR_INV_POOL_USER_DEF  def is an ABT_pool_def
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_user_def_set_print_all(
    ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all);

/**
 * Create an empty configuration of a pool.
 *
 * @param config  [out]  the configuration
 * Owns:      the caller owns the result; ABT_pool_config_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  config is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_config_create(ABT_pool_config *config);

/**
 * Destroy a configuration of a pool.
 *
 * @param config  [in,out]  the configuration; becomes ABT_POOL_CONFIG_NULL
 * Owns:      the configuration is consumed.
 * Errors:    ABT_ERR_INV_POOL_CONFIG  *config is ABT_POOL_CONFIG_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_config_free(ABT_pool_config *config);

/**
 * Set the value of a key in a pool configuration.
 *
 * @param config  [in]  the configuration
 * @param key     [in]  any number; negative keys are the library's
 * @param type    [in]  of the value
 * @param val     [in]  the value, which is copied; NULL: remove the key
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_CONFIG  config is NULL
 *            ABT_ERR_INV_ARG  no such type
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread, one at a time per configuration; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_config_set(ABT_pool_config config, int key,
    ABT_pool_config_type type, const void *val);

/**
 * Get the value of a key of a pool configuration.
 *
 * @param config  [in]  the configuration
 * @param key     [in]  the key
 * @param type    [out]  may be NULL
 * @param val     [out]  room for an int, a double or a pointer; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL_CONFIG  config is NULL
 *            ABT_ERR_INV_ARG  the key was not set
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_config_get(
    ABT_pool_config config, int key, ABT_pool_config_type *type, void *val);

/**
 * Choose the pool into which a unit that is in no pool is pushed when it is
 * ready.
 *
 * @param unit  [in]  the unit
 * @param pool  [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_UNIT  unit is NULL
 *            ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_MEM  no memory for the unit of a user-defined pool
 *            ABT_ERR_OTHER  the pool's function created no unit
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_unit_set_associated_pool(ABT_unit unit, ABT_pool pool);

/**
 * Get the thread of a unit.
 *
 * @param unit    [in]  the unit
 * @param thread  [out]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_UNIT  unit is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_unit_get_thread(ABT_unit unit, ABT_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
