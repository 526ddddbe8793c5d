/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams: OS threads that run the threads of pools. */
#ifndef ABT_XSTREAM_H
#define ABT_XSTREAM_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create an execution stream.
 *
 * @param sched       [in]  the scheduler; ABT_SCHED_NULL: a new basic_wait
 *                          scheduler with a new pool
 * @param newxstream  [out]  the stream
 * Owns:      the caller owns the result; ABT_xstream_free() frees it. The
 *            stream owns the scheduler.
 * Errors:    ABT_ERR_INV_ARG  newxstream is NULL
 *            ABT_ERR_SCHED  a stream uses the scheduler already
 *            ABT_ERR_MEM  no memory
 *            ABT_ERR_SYS  the OS refuses a thread; the log says why
 *            ABT_ERR_UNINITIALIZED  not between ABT_init() and
 *              ABT_finalize()
 * Threads:   any thread; waits until the OS thread of the stream has begun.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_create(ABT_sched sched, ABT_xstream *newxstream);

/**
 * Create an execution stream with a built-in scheduler.
 *
 * @param predef      [in]  the kind of scheduler
 * @param num_pools   [in]  number of pools; 0: one new pool
 * @param pools       [in]  the pools in order; a new pool for each
 *                          ABT_POOL_NULL; NULL: new pools only
 * @param config      [in]  may be ABT_SCHED_CONFIG_NULL
 * @param newxstream  [out]  the stream
 * Owns:      the caller owns the result; ABT_xstream_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newxstream is NULL
 *            ABT_ERR_INV_SCHED_PREDEF  no such scheduler
 *            ABT_ERR_INV_ARG  num_pools is negative
 *            ABT_ERR_MEM  no memory
 *            ABT_ERR_SYS  the OS refuses a thread; the log says why
 *            ABT_ERR_UNINITIALIZED  not between ABT_init() and
 *              ABT_finalize()
 * Threads:   any thread; waits until the OS thread of the stream has begun.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_create_basic(ABT_sched_predef predef,
    int num_pools, ABT_pool *pools, ABT_sched_config config,
    ABT_xstream *newxstream);

/**
 * Create an execution stream with a given rank.
 *
 * @param sched       [in]  as for ABT_xstream_create()
 * @param rank        [in]  from 1
 * @param newxstream  [out]  the stream
 * Owns:      the caller owns the result; ABT_xstream_free() frees it. The
 *            stream owns the scheduler.
 * Errors:    ABT_ERR_INV_ARG  newxstream is NULL
 *            ABT_ERR_INV_XSTREAM_RANK  rank is negative, or in use
 *            ABT_ERR_SCHED  a stream uses the scheduler already
 *            ABT_ERR_MEM  no memory
 *            ABT_ERR_SYS  the OS refuses a thread; the log says why
 *            ABT_ERR_UNINITIALIZED  not between ABT_init() and
 *              ABT_finalize()
 * Threads:   any thread; waits until the OS thread of the stream has begun.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_create_with_rank(
    ABT_sched sched, int rank, ABT_xstream *newxstream);

/**
 * Revive a joined stream, with its scheduler and pools.
 *
 * @param xstream  [in]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_XSTREAM_STATE  the stream has not ended
 *            ABT_ERR_SYS, ABT_ERR_MEM  no OS thread, or no memory; see the log
 * Threads:   any thread; waits until the OS thread of the stream has begun.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_revive(ABT_xstream xstream);

/**
 * Join a stream, and destroy it.
 *
 * @param xstream  [in,out]  the stream; becomes ABT_XSTREAM_NULL
 * Owns:      the stream is consumed, and its scheduler if that is automatic.
 * Errors:    ABT_ERR_INV_XSTREAM  *xstream is ABT_XSTREAM_NULL
 *            ABT_ERR_INV_XSTREAM  the stream is primary, or the caller's
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_free(ABT_xstream *xstream);

/**
 * Ask a stream to end once its pools are empty, and wait until it has ended.
 * Blocked threads of a pool that other streams run, too, do not count.
 *
 * @param xstream  [in]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_XSTREAM  the stream is primary, or the caller's
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_join(ABT_xstream xstream);

/**
 * End the caller's stream, and the calling thread.
 *
 * Other threads stay in the pools of the stream.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  the caller is on no stream, or on the
 *              primary stream
 * Threads:   a user-level thread; does not return.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_exit(void);

/**
 * Ask a stream to end when the thread that now runs there leaves the stream.
 *
 * @param xstream  [in]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_XSTREAM  the stream is primary
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_cancel(ABT_xstream xstream);

/**
 * Get the caller's stream.
 *
 * @param xstream  [out]  the stream
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  xstream is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream;
 *              ABT_XSTREAM_NULL was written
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_self(ABT_xstream *xstream);

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
ABT_API_PUBLIC int ABT_xstream_self_rank(int *rank);

/**
 * Change the rank of a stream.
 *
 * @param xstream  [in]  the stream
 * @param rank     [in]  from 0
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_XSTREAM_RANK  rank is negative, or in use
 *            ABT_ERR_INV_XSTREAM  the stream is primary
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_set_rank(ABT_xstream xstream, int rank);

/**
 * Get the rank of a stream; the primary stream has 0.
 *
 * @param xstream  [in]  the stream
 * @param rank     [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  rank is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_rank(ABT_xstream xstream, int *rank);

/**
 * Replace the scheduler of a stream.
 *
 * Ready and blocked threads of automatic pools that no scheduler has any more
 * move to the first pool of the new scheduler.
 *
 * @param xstream  [in]  the caller's stream, or a stream that has ended
 * @param sched    [in]  the new scheduler; ABT_SCHED_NULL: a new basic_wait
 *                       scheduler with a new pool
 * Owns:      the stream owns the scheduler; the former scheduler is freed if
 *            automatic.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_XSTREAM_STATE  the stream runs, and is not the caller's
 *            ABT_ERR_SCHED  a stream uses the scheduler already
 *            ABT_ERR_MEM  no memory
 * Threads:   a user-level thread of the stream; any thread if the stream ended.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_set_main_sched(
    ABT_xstream xstream, ABT_sched sched);

/**
 * Replace the scheduler of a stream by a built-in scheduler.
 *
 * @param xstream    [in]  the stream
 * @param predef     [in]  the kind of scheduler
 * @param num_pools  [in]  number of pools; 0: one new pool
 * @param pools      [in]  the pools in order; a new pool for each
 *                         ABT_POOL_NULL; NULL: new pools only
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_SCHED_PREDEF  no such scheduler
 *            ABT_ERR_INV_ARG  num_pools is negative
 *            ABT_ERR_XSTREAM_STATE  the stream runs, and is not the caller's
 *            ABT_ERR_MEM  no memory
 * Threads:   a user-level thread of the stream; any thread if the stream ended.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_set_main_sched_basic(ABT_xstream xstream,
    ABT_sched_predef predef, int num_pools, ABT_pool *pools);

/**
 * Get the scheduler of a stream.
 *
 * @param xstream  [in]  the stream
 * @param sched    [out]  the scheduler
 * Owns:      the result is borrowed from the stream.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  sched is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_main_sched(
    ABT_xstream xstream, ABT_sched *sched);

/**
 * Get the pools of the scheduler of a stream.
 *
 * @param xstream    [in]  the stream
 * @param max_pools  [in]  room of the array
 * @param pools      [out]  array of `max_pools`; elements beyond the last pool
 *                          are not written
 * Owns:      the results are borrowed from the stream.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  pools is NULL
 *            ABT_ERR_INV_ARG  max_pools is negative
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_main_pools(
    ABT_xstream xstream, int max_pools, ABT_pool *pools);

/**
 * Tell whether a stream runs.
 *
 * @param xstream  [in]  the stream
 * @param state    [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  state is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_state(
    ABT_xstream xstream, ABT_xstream_state *state);

/**
 * Tell whether two streams are the same.
 *
 * @param xstream1  [in]  the stream
 * @param xstream2  [in]  the stream
 * @param result    [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  result is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_equal(
    ABT_xstream xstream1, ABT_xstream xstream2, ABT_bool *result);

/**
 * Get the number of streams, including streams that have ended.
 *
 * @param num_xstreams  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  num_xstreams is NULL
 *            ABT_ERR_UNINITIALIZED  not between ABT_init() and ABT_finalize()
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_num(int *num_xstreams);

/**
 * Tell whether a stream is the one on which ABT_init() was called.
 *
 * @param xstream     [in]  the stream
 * @param is_primary  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  is_primary is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_is_primary(
    ABT_xstream xstream, ABT_bool *is_primary);

/**
 * Run a popped unit until its thread yields, blocks or ends.
 *
 * @param unit  [in]  the unit
 * @param pool  [in]  becomes the pool of the unit's thread
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_UNIT  unit is NULL
 *            ABT_ERR_INV_POOL  pool is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   a scheduler of the program.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_run_unit(ABT_unit unit, ABT_pool pool);

/**
 * Let a scheduler check for requests to its stream.
 *
 * Argobots requires that schedulers call this function now and then; here the
 * function does nothing, because ABT_sched_has_to_stop() checks.
 *
 * @param sched  [in]  the scheduler
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_SCHED  sched is NULL
 * Threads:   the stream that runs the scheduler; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_check_events(ABT_sched sched);

/**
 * Bind a stream to a core.
 *
 * @param xstream  [in]  the stream
 * @param cpuid    [in]  the core's number in the OS
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_CPUID  the process may not run on that core
 *            ABT_ERR_FEATURE_NA  the system cannot bind, or ABT_SET_AFFINITY=0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_set_cpubind(ABT_xstream xstream, int cpuid);

/**
 * Get the first core on which a stream may run.
 *
 * @param xstream  [in]  the stream
 * @param cpuid    [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  cpuid is NULL
 *            ABT_ERR_FEATURE_NA  the system cannot tell, or ABT_SET_AFFINITY=0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_cpubind(ABT_xstream xstream, int *cpuid);

/**
 * Bind a stream to several cores.
 *
 * @param xstream     [in]  the stream
 * @param num_cpuids  [in]  number of cores; 0: all that the process may use
 * @param cpuids      [in]  numbers of cores in the OS
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  num_cpuids is negative, or cpuids is NULL and
 *              num_cpuids is not 0
 *            ABT_ERR_CPUID  the process may run on none of these cores;
 *              nothing changed
 *            ABT_ERR_FEATURE_NA  the system cannot bind, or ABT_SET_AFFINITY=0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_set_affinity(
    ABT_xstream xstream, int num_cpuids, int *cpuids);

/**
 * Get the cores on which a stream may run.
 *
 * @param xstream     [in]  the stream
 * @param max_cpuids  [in]  room of the array
 * @param cpuids      [out]  array of `max_cpuids`; NULL only if max_cpuids is 0
 * @param num_cpuids  [out]  number of all these cores, even if that is above
 *                           max_cpuids; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM  xstream is NULL
 *            ABT_ERR_INV_ARG  max_cpuids is negative, or cpuids is NULL and
 *              max_cpuids is not 0
 *            ABT_ERR_FEATURE_NA  the system cannot tell, or ABT_SET_AFFINITY=0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_get_affinity(
    ABT_xstream xstream, int max_cpuids, int *cpuids, int *num_cpuids);

/**
 * Create a barrier for execution streams.
 *
 * @param num_waiters  [in]  number of threads at the barrier; not 0
 * @param newbarrier   [out]  the barrier
 * Owns:      the caller owns the result; ABT_xstream_barrier_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newbarrier is NULL
 *            ABT_ERR_INV_ARG  num_waiters is 0
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_barrier_create(
    uint32_t num_waiters, ABT_xstream_barrier *newbarrier);

/**
 * Destroy a barrier of streams.
 *
 * @param barrier  [in,out]  the barrier; becomes ABT_XSTREAM_BARRIER_NULL
 * Owns:      the barrier is consumed.
 * Errors:    ABT_ERR_INV_XSTREAM_BARRIER  *barrier is ABT_XSTREAM_BARRIER_NULL
 *            ABT_ERR_XSTREAM_BARRIER  a thread waits; nothing changed
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_barrier_free(ABT_xstream_barrier *barrier);

/**
 * Wait until all streams of a barrier have arrived.
 *
 * @param barrier  [in]  the barrier
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_XSTREAM_BARRIER  barrier is NULL
 * Threads:   waits, and blocks the stream of the caller meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_xstream_barrier_wait(ABT_xstream_barrier barrier);

/**
 * Run a popped thread until that thread yields, blocks or ends.
 *
 * @param thread  [in]  the thread
 * @param pool    [in]  becomes the pool of the thread, unless ABT_POOL_NULL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_THREAD  thread is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   a scheduler of the program.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_self_schedule(ABT_thread thread, ABT_pool pool);

#ifdef __cplusplus
}
#endif

#endif
