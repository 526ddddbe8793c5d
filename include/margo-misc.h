/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings and diagnostics of a running instance. */
#ifndef MARGO_MISC_H
#define MARGO_MISC_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sleep for at least some milliseconds.
 *
 * @param mid         [in]  the Margo instance
 * @param timeout_ms  [in]  0 or less: only yields
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_thread_sleep(margo_instance_id mid, double timeout_ms);

/**
 * Get the default pool for handlers.
 *
 * @param mid   [in]   the Margo instance
 * @param pool  [out]  the pool
 * Owns:      the result is borrowed from the instance.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_handler_pool(margo_instance_id mid, ABT_pool *pool);

/**
 * Get the pool of the progress loop.
 *
 * @param mid   [in]   the Margo instance
 * @param pool  [out]  the pool
 * Owns:      the result is borrowed from the instance.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_progress_pool(margo_instance_id mid, ABT_pool *pool);

/**
 * Not available: no user-level threads are profiled, ours or Argobots' own.
 *
 * Use monitoring to measure calls, margo_state_dump() to list threads.
 *
 * @param mid       [in]  the Margo instance
 * @param detailed  [in]  not read
 * Owns:      nothing changes hands.
 * Errors:    -1 always; the log says what to use instead
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24, but not available.
 */
HG_PUBLIC int margo_start_abt_profiling(margo_instance_id mid, bool detailed);

/**
 * Not available, as margo_start_abt_profiling().
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    -1 always; the log says what to use instead
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24, but not available.
 */
HG_PUBLIC int margo_stop_abt_profiling(margo_instance_id mid);

/**
 * Not available, as margo_start_abt_profiling().
 *
 * @param mid                 [in]   the Margo instance
 * @param file_name           [in]  not read
 * @param uniquify            [in]  not read
 * @param resolved_file_name  [out]  not written
 * Owns:      nothing changes hands.
 * Errors:    -1 always; the log says what to use instead
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24, but not available.
 */
HG_PUBLIC int margo_dump_abt_profiling(margo_instance_id mid,
    const char *file_name, int uniquify, char **resolved_file_name);

/**
 * Write the state of the instance to a file, as text.
 *
 * @param mid                 [in]   the Margo instance
 * @param file_name           [in]  "-": the standard output
 * @param uniquify            [in]  not 0: the host and the process id become
 *                                  part of the name
 * @param resolved_file_name  [out]  may be NULL
 * Owns:      the caller owns the name; free() frees it.
 * Errors:    -1 the file cannot be written; the log says why
 * Threads:   any thread; writes a file.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_state_dump(margo_instance_id mid, const char *file_name,
    int uniquify, char **resolved_file_name);

/**
 * Set the longest sleep of an idle progress loop.
 *
 * Any event ends the sleep early.
 *
 * @param mid      [in]  the Margo instance
 * @param timeout  [in]  in milliseconds
 * Owns:      nothing changes hands.
 * Errors:    -1 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_progress_timeout_ub_msec(
    margo_instance_id mid, unsigned timeout);

/**
 * Get the longest sleep of an idle progress loop.
 *
 * @param mid      [in]   the Margo instance
 * @param timeout  [out]  in milliseconds
 * Owns:      nothing changes hands.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_progress_timeout_ub_msec(
    margo_instance_id mid, unsigned *timeout);

/**
 * Make progress only while an operation of this process is in flight.
 *
 * For clients: at other times the instance receives no requests.
 *
 * @param mid          [in]  the Margo instance
 * @param when_needed  [in]  false: make progress always, as by default
 * Owns:      nothing changes hands.
 * Errors:    -1 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_progress_when_needed(
    margo_instance_id mid, bool when_needed);

/**
 * Move the progress loop to another pool.
 *
 * @param mid       [in]  the Margo instance
 * @param pool_idx  [in]  index of the pool; see margo-config.h
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL the instance has no such pool
 *            ABT_ERR_INV_ARG  mid is NULL, or the instance has ended
 *            and those of ABT_thread_migrate_to_pool()
 * Threads:   any thread; returns before the loop has moved.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_migrate_progress_loop(
    margo_instance_id mid, uint32_t pool_idx);

/**
 * Set a parameter of an instance by name.
 *
 * @param mid    [in]  the Margo instance
 * @param key    [in]  "progress_timeout_ub_msec" or "progress_timeout_ub_msecs"
 * @param value  [in]  a number of milliseconds as text
 * Owns:      nothing changes hands.
 * Errors:    -1 an argument is NULL, the key is unknown, or the value is no
 *               number; the log says which
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_param(
    margo_instance_id mid, const char *key, const char *value);

#ifdef __cplusplus
}
#endif

#endif
