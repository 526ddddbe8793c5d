/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of ready threads: create, push and pop. */
#ifndef ABT_POOL_H
#define ABT_POOL_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a pool of a built-in kind.
 *
 * @param kind       [in]  ABT_POOL_FIFO, _FIFO_WAIT, _RANDWS, or AMALGAM_POOL_*
 * @param access     [in]  the streams that may push and pop; all values act as
 *                         ABT_POOL_ACCESS_MPMC
 * @param automatic  [in]  ABT_TRUE: freed with the last scheduler that uses it
 * @param newpool    [out]  the pool
 * Owns:      the caller owns the result; ABT_pool_free() frees it, unless it is
 *            automatic.
 * Errors:    ABT_ERR_INV_ARG  newpool is NULL
 *            ABT_ERR_INV_POOL_KIND, ABT_ERR_INV_POOL_ACCESS  no such kind, or
 *              access
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_create_basic(ABT_pool_kind kind,
    ABT_pool_access access, ABT_bool automatic, ABT_pool *newpool);

/**
 * Create a pool with user-defined functions.
 *
 * Functions that a definition lacks have defaults, except the required ones.
 *
 * @param def      [in]  of ABT_pool_user_def_create(), or the address of an
 *                       ABT_pool_def; only read during the call
 * @param config   [in]  may be ABT_POOL_CONFIG_NULL; passed to the
 *                       definition's init
 * @param newpool  [out]  the pool
 * Owns:      the caller owns the result; ABT_pool_free() frees it, unless it is
 *            automatic.
 * Errors:    ABT_ERR_INV_POOL_USER_DEF  def or a required function is NULL
 *            ABT_ERR_INV_ARG  newpool is NULL
 *            ABT_ERR_MEM  no memory
 *            and the errors of the definition's init
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_create(
    ABT_pool_user_def def, ABT_pool_config config, ABT_pool *newpool);

/**
 * Destroy a pool.
 *
 * @param pool  [in,out]  the pool; becomes ABT_POOL_NULL
 * Owns:      the pool is consumed.
 * Errors:    ABT_ERR_INV_POOL  *pool is ABT_POOL_NULL
 *            ABT_ERR_POOL  a scheduler uses the pool, or the pool has ready or
 *              blocked threads; nothing changed
 * Threads:   one thread, when no other uses the pool.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_free(ABT_pool *pool);

/**
 * Get the access of a pool: the streams that may push and pop.
 *
 * @param pool    [in]  the pool
 * @param access  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  access is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_get_access(ABT_pool pool, ABT_pool_access *access);

/**
 * Get the number of threads of a pool: ready, blocked or suspended.
 *
 * @param pool  [in]  the pool
 * @param size  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  size is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_get_total_size(ABT_pool pool, size_t *size);

/**
 * Get the number of threads that are ready in a pool.
 *
 * @param pool  [in]  the pool
 * @param size  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  size is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_get_size(ABT_pool pool, size_t *size);

/**
 * Tell whether no thread is ready in a pool.
 *
 * @param pool      [in]  the pool
 * @param is_empty  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  is_empty is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_is_empty(ABT_pool pool, ABT_bool *is_empty);

/**
 * Get a number that is unique among the existing pools.
 *
 * @param pool  [in]  the pool
 * @param id    [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  id is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_get_id(ABT_pool pool, int *id);

/**
 * Attach a pointer of the program to a pool.
 *
 * @param pool  [in]  the pool
 * @param data  [in]  not interpreted
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_set_data(ABT_pool pool, void *data);

/**
 * Get the pointer that ABT_pool_set_data() attached, or NULL.
 *
 * @param pool  [in]  the pool
 * @param data  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  data is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_get_data(ABT_pool pool, void **data);

/**
 * Pop the next thread of a pool, as a unit.
 *
 * @param pool  [in]  the pool
 * @param unit  [out]  ABT_UNIT_NULL: the pool is empty
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  unit is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop(ABT_pool pool, ABT_unit *unit);

/**
 * Pop the next thread of a pool as a unit; wait if the pool is empty.
 *
 * @param pool       [in]  the pool
 * @param unit       [out]  ABT_UNIT_NULL: no unit came in time
 * @param time_secs  [in]  seconds from now
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  unit is NULL
 * Threads:   may wait up to its time-out, in which the OS thread sleeps.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_wait(
    ABT_pool pool, ABT_unit *unit, double time_secs);

/**
 * Pop the next thread of a pool as a unit; if empty, wait until a deadline.
 *
 * @param pool          [in]  the pool
 * @param unit          [out]  ABT_UNIT_NULL: no unit came in time
 * @param abstime_secs  [in]  a time of ABT_get_wtime()
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  unit is NULL
 * Threads:   may wait up to its time-out, in which the OS thread sleeps.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_timedwait(
    ABT_pool pool, ABT_unit *unit, double abstime_secs);

/**
 * Pop the next thread of a pool.
 *
 * @param pool    [in]  the pool
 * @param thread  [out]  ABT_THREAD_NULL: the pool is empty
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_thread(ABT_pool pool, ABT_thread *thread);

/**
 * Pop the next thread of a pool, with a context for a user-defined pool.
 *
 * @param pool          [in]  the pool
 * @param thread        [out]  ABT_THREAD_NULL: the pool is empty
 * @param pool_context  [in]  passed to the pool's functions
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_thread_ex(
    ABT_pool pool, ABT_thread *thread, ABT_pool_context pool_context);

/**
 * Pop several threads of a pool.
 *
 * @param pool     [in]  the pool
 * @param threads  [out]  array of `len`
 * @param len      [in]  room of the array
 * @param num      [out]  number of popped threads
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  num is NULL, or threads is NULL and len is not 0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_threads(
    ABT_pool pool, ABT_thread *threads, size_t len, size_t *num);

/**
 * Pop several threads of a pool, with a context for a user-defined pool.
 *
 * @param pool          [in]  the pool
 * @param threads       [out]  array of `len`
 * @param len           [in]  room of the array
 * @param num           [out]  number of popped threads
 * @param pool_context  [in]  passed to the pool's functions
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  num is NULL, or threads is NULL and len is not 0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_threads_ex(ABT_pool pool, ABT_thread *threads,
    size_t len, size_t *num, ABT_pool_context pool_context);

/**
 * Pop the next thread of a pool; wait if the pool is empty.
 *
 * @param pool       [in]  the pool
 * @param thread     [out]  ABT_THREAD_NULL: no thread came in time
 * @param time_secs  [in]  seconds from now
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 * Threads:   may wait up to its time-out, in which the OS thread sleeps.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_wait_thread(
    ABT_pool pool, ABT_thread *thread, double time_secs);

/**
 * Pop the next thread of a pool, with a context for a user-defined pool; wait
 * if the pool is empty.
 *
 * @param pool          [in]  the pool
 * @param thread        [out]  ABT_THREAD_NULL: no thread came in time
 * @param time_secs     [in]  seconds from now
 * @param pool_context  [in]  passed to the pool's functions
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 * Threads:   may wait up to its time-out, in which the OS thread sleeps.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_pop_wait_thread_ex(ABT_pool pool,
    ABT_thread *thread, double time_secs, ABT_pool_context pool_context);

/**
 * Remove a ready unit from a pool, at any position.
 *
 * @param pool  [in]  the pool
 * @param unit  [in]  the unit
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_UNIT  unit is NULL
 *            ABT_ERR_POOL  not in this pool, or p_remove failed or is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_remove(ABT_pool pool, ABT_unit unit);

/**
 * Push a unit that was popped; its thread belongs to this pool from then on.
 *
 * Wakes threads that wait for a unit of the pool.
 *
 * @param pool  [in]  the pool
 * @param unit  [in]  the unit
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_UNIT  unit is NULL
 *            ABT_ERR_UNIT  the unit is in a pool already
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_push(ABT_pool pool, ABT_unit unit);

/**
 * Push a thread that was popped; the thread belongs to this pool from then on.
 *
 * @param pool    [in]  the pool
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_UNIT  the unit is in a pool already
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_push_thread(ABT_pool pool, ABT_thread thread);

/**
 * Push a thread that was popped, with a context for a user-defined pool.
 *
 * @param pool          [in]  the pool
 * @param thread        [in]  the thread
 * @param pool_context  [in]  passed to the pool's functions
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_UNIT  the unit is in a pool already
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_push_thread_ex(
    ABT_pool pool, ABT_thread thread, ABT_pool_context pool_context);

/**
 * Push several threads; ABT_THREAD_NULL among them is skipped.
 *
 * @param pool     [in]  the pool
 * @param threads  [in]  array of `num` threads
 * @param num      [in]  number of threads
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  threads is NULL and num is not 0
 *            ABT_ERR_UNIT  a thread is in a pool already; the threads before it
 *              were pushed
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_push_threads(
    ABT_pool pool, const ABT_thread *threads, size_t num);

/**
 * Push several threads, with a context for a user-defined pool.
 *
 * @param pool          [in]  the pool
 * @param threads       [in]  array of `num` threads
 * @param num           [in]  number of threads
 * @param pool_context  [in]  passed to the pool's functions
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  threads is NULL and num is not 0
 *            ABT_ERR_UNIT  a thread is in a pool already; the threads before it
 *              were pushed
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_push_threads_ex(ABT_pool pool,
    const ABT_thread *threads, size_t num, ABT_pool_context pool_context);

/**
 * Run a scheduler as a thread of a pool: the stream that pops this thread runs
 * the scheduler's pools until they are empty, or the scheduler is asked to end.
 *
 * @param pool   [in]  the pool
 * @param sched  [in]  the scheduler
 * Owns:      the pool owns the scheduler until the scheduler ends.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_SCHED  the scheduler is in use already
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_add_sched(ABT_pool pool, ABT_sched sched);

/**
 * Call a function for each ready unit of a pool.
 *
 * @param pool      [in]  the pool
 * @param arg       [in]  passed to the function
 * @param print_fn  [in]  called with `arg` and the unit; must not use the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  print_fn is NULL
 *            ABT_ERR_POOL  the pool is user-defined, without print_all
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_print_all(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_unit));

/**
 * Call a function for each ready thread of a pool.
 *
 * @param pool      [in]  the pool
 * @param arg       [in]  passed to the function
 * @param print_fn  [in]  called with `arg` and the thread; must not use the
 *                        pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  print_fn is NULL
 *            ABT_ERR_POOL  the pool is user-defined, without print_all
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_pool_print_all_threads(
    ABT_pool pool, void *arg, void (*print_fn)(void *, ABT_thread));

#ifdef __cplusplus
}
#endif

#endif
