/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads. */
#ifndef ABT_THREAD_H
#define ABT_THREAD_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a user-level thread, ready in a pool.
 *
 * @param pool         [in]  the pool
 * @param thread_func  [in]  the function of the thread
 * @param arg          [in]  passed to the function
 * @param attr         [in]  may be ABT_THREAD_ATTR_NULL
 * @param newthread    [out]  NULL: the thread is unnamed, freed when it ends
 * Owns:      the caller owns the result; ABT_thread_free() frees it.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread_func is NULL
 *            ABT_ERR_MEM  no memory for the thread or its stack
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_create(ABT_pool pool, void (*thread_func)(void *),
    void *arg, ABT_thread_attr attr, ABT_thread *newthread);

/**
 * Create a user-level thread, and switch to that thread at once; the caller is
 * pushed into the caller's pool.
 *
 * @param pool         [in]  the pool
 * @param thread_func  [in]  the function of the thread
 * @param arg          [in]  passed to the function
 * @param attr         [in]  may be ABT_THREAD_ATTR_NULL
 * @param newthread    [out]  as for ABT_thread_create()
 * Owns:      the caller owns the result; ABT_thread_free() frees it.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread_func is NULL
 *            ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is no
 *              user-level thread
 *            ABT_ERR_MEM  no memory for the thread or its stack
 * Threads:   a user-level thread; yields.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_create_to(ABT_pool pool,
    void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
    ABT_thread *newthread);

/**
 * Create a user-level thread, ready in the first pool of a stream.
 *
 * @param xstream      [in]  the stream
 * @param thread_func  [in]  the function of the thread
 * @param arg          [in]  passed to the function
 * @param attr         [in]  may be ABT_THREAD_ATTR_NULL
 * @param newthread    [out]  as for ABT_thread_create()
 * Owns:      the caller owns the result; ABT_thread_free() frees it.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  thread_func is NULL
 *            ABT_ERR_MEM  no memory for the thread or its stack
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_create_on_xstream(ABT_xstream xstream,
    void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
    ABT_thread *newthread);

/**
 * Create many user-level threads.
 *
 * @param num_threads       [in]  number of threads
 * @param pool_list         [in]  the pool of each thread
 * @param thread_func_list  [in]  the function of each thread
 * @param arg_list          [in]  of each function; NULL: all arguments are NULL
 * @param attr              [in]  of all threads; without a stack; may be
 *                                ABT_THREAD_ATTR_NULL
 * @param newthread_list    [out]  an array; NULL: the threads are unnamed
 * Owns:      the caller owns the results; ABT_thread_free() frees each.
 * Errors:    ABT_ERR_INV_ARG  pool_list, thread_func_list or a function is
 *              NULL, or attr has a stack
 *            ABT_ERR_INV_POOL, ABT_ERR_MEM  a pool is ABT_POOL_NULL, or no
 *              memory; the threads before it were created
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_create_many(int num_threads, ABT_pool *pool_list,
    void (**thread_func_list)(void *), void **arg_list, ABT_thread_attr attr,
    ABT_thread *newthread_list);

/**
 * Revive a thread that has ended, with a new function.
 *
 * @param pool         [in]  the pool
 * @param thread_func  [in]  the function of the thread
 * @param arg          [in]  passed to the function
 * @param thread       [in,out]  the thread; its handle stays valid
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 *            ABT_ERR_INV_THREAD  the thread has not ended
 *            ABT_ERR_INV_ARG  thread_func is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_revive(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread);

/**
 * Revive a thread that has ended, with a new function, and switch to that
 * thread at once; the caller is pushed into the caller's pool.
 *
 * @param pool         [in]  the pool
 * @param thread_func  [in]  the function of the thread
 * @param arg          [in]  passed to the function
 * @param thread       [in,out]  the thread; its handle stays valid
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_ARG  thread is NULL
 *            ABT_ERR_INV_THREAD  the thread has not ended, or the caller is no
 *              user-level thread
 *            ABT_ERR_INV_ARG  thread_func is NULL
 * Threads:   a user-level thread; yields.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_revive_to(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread);

/**
 * Join a thread, and destroy it.
 *
 * @param thread  [in,out]  the thread; becomes ABT_THREAD_NULL
 * Owns:      the thread is consumed.
 * Errors:    ABT_ERR_INV_THREAD  *thread is ABT_THREAD_NULL
 *            ABT_ERR_INV_THREAD  the thread is primary, unnamed, or the caller
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_free(ABT_thread *thread);

/**
 * Join many threads, and destroy them.
 *
 * @param num_threads  [in]  number of threads
 * @param thread_list  [in,out]  ABT_THREAD_NULL is skipped; each becomes
 *                               ABT_THREAD_NULL
 * Owns:      the threads are consumed.
 * Errors:    ABT_ERR_INV_ARG  thread_list is NULL; or the first error of a join
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_free_many(
    int num_threads, ABT_thread *thread_list);

/**
 * Wait until a thread has ended.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_THREAD  the thread is primary, unnamed, or the caller
 *            ABT_ERR_INV_THREAD  a tasklet joins a thread that has not ended
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_join(ABT_thread thread);

/**
 * Wait until many threads have ended.
 *
 * @param num_threads  [in]  number of threads
 * @param thread_list  [in]  ABT_THREAD_NULL among them is skipped
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  thread_list is NULL; or the first error of a join
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_join_many(
    int num_threads, ABT_thread *thread_list);

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
ABT_API_PUBLIC int ABT_thread_exit(void);

/**
 * Ask a thread to end before it begins, or when it next yields or is resumed.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_THREAD  the thread is primary
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_cancel(ABT_thread thread);

/**
 * Get the calling thread.
 *
 * @param thread  [out]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  thread is NULL
 *            ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the caller is no
 *              user-level thread; ABT_THREAD_NULL was written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_self(ABT_thread *thread);

/**
 * Get the number of the calling thread.
 *
 * @param id  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  id is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is no user-level thread
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_self_id(ABT_unit_id *id);

/**
 * Get the stream that runs a thread, or ran it last.
 *
 * @param thread   [in]  the thread
 * @param xstream  [out]  ABT_XSTREAM_NULL: no stream has run it
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  xstream is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_last_xstream(
    ABT_thread thread, ABT_xstream *xstream);

/**
 * Get the state of a thread.
 *
 * @param thread  [in]  the thread
 * @param state   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  state is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_state(
    ABT_thread thread, ABT_thread_state *state);

/**
 * Get the pool of a thread.
 *
 * @param thread  [in]  the thread
 * @param pool    [out]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  pool is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_last_pool(ABT_thread thread, ABT_pool *pool);

/**
 * Get the number of the pool of a thread.
 *
 * @param thread  [in]  the thread
 * @param id      [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  id is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_last_pool_id(ABT_thread thread, int *id);

/**
 * Get the unit of a thread in its pool.
 *
 * @param thread  [in]  the thread
 * @param unit    [out]  the unit
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_ARG  unit is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_get_unit(ABT_thread thread, ABT_unit *unit);

/**
 * Choose the pool into which a thread that is in no pool is pushed when it is
 * ready.
 *
 * @param thread  [in]  the thread
 * @param pool    [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_MEM  no memory for the unit of a user-defined pool
 *            ABT_ERR_OTHER  the pool's function created no unit
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_set_associated_pool(
    ABT_thread thread, ABT_pool pool);

/**
 * Yield to a thread that is ready in its pool, by a direct switch.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_INV_THREAD  the thread is the caller, or not in its pool
 * Threads:   a user-level thread; yields.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_yield_to(ABT_thread thread);

/**
 * Let other threads of the stream run.
 *
 * Owns:      nothing changes hands.
 * Errors:    none; an OS thread that is no stream yields its core.
 * Threads:   any thread; a user-level thread yields.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_yield(void);

/**
 * Resume a thread that has suspended itself.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_THREAD  the thread has not suspended itself
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_resume(ABT_thread thread);

/**
 * Request migration of a thread to a stream.
 *
 * A ready thread moves at once, any other thread when it next becomes ready.
 *
 * @param thread   [in]  the thread
 * @param xstream  [in]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_MIGRATION_NA  the thread may not migrate
 *            ABT_ERR_MIGRATION_TARGET  the stream has the thread already
 *            ABT_ERR_INV_THREAD  the thread is primary, or has ended
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_migrate_to_xstream(
    ABT_thread thread, ABT_xstream xstream);

/**
 * Request migration of a thread to the first pool of a scheduler.
 *
 * @param thread  [in]  the thread
 * @param sched   [in]  the scheduler
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_SCHED  sched is NULL
 *            ABT_ERR_MIGRATION_NA  the thread may not migrate
 *            ABT_ERR_MIGRATION_TARGET  the scheduler has the thread already
 *            ABT_ERR_INV_THREAD  the thread is primary, or has ended
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_migrate_to_sched(
    ABT_thread thread, ABT_sched sched);

/**
 * Request migration of a thread to a pool.
 *
 * @param thread  [in]  the thread
 * @param pool    [in]  the pool
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_MIGRATION_NA  the thread may not migrate
 *            ABT_ERR_MIGRATION_TARGET  the pool has the thread already
 *            ABT_ERR_INV_THREAD  the thread is primary, or has ended
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_migrate_to_pool(ABT_thread thread, ABT_pool pool);

/**
 * Request migration of a thread to any other stream.
 *
 * @param thread  [in]  the thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_MIGRATION_NA  the thread may not migrate, or all streams
 *              that run have the thread's pool
 *            ABT_ERR_INV_THREAD  the thread is primary, or has ended
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_thread_migrate(ABT_thread thread);

#ifdef __cplusplus
}
#endif

#endif
