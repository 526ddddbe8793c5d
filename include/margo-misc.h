/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instance is asked and told while it runs. */
#ifndef MARGO_MISC_H
#define MARGO_MISC_H

#include "margo-types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sleep for some milliseconds, at least.
 *
 * @param mid         [in]
 * @param timeout_ms  [in]  0 and less: only others get their turn
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; a user-level thread leaves its stream to others while
 *            it waits.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC void margo_thread_sleep(margo_instance_id mid, double timeout_ms);

/**
 * The pool of the handlers of RPCs that name none.
 *
 * @param mid   [in]
 * @param pool  [out]
 * Owns:      the result is borrowed from the instance.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_handler_pool(margo_instance_id mid, ABT_pool *pool);

/**
 * The pool in which progress is made.
 *
 * @param mid   [in]
 * @param pool  [out]
 * Owns:      the result is borrowed from the instance.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_progress_pool(margo_instance_id mid, ABT_pool *pool);

/**
 * Count what user-level threads do from now on.
 *
 * @param mid       [in]
 * @param detailed  [in]  each thread by its function, and not only in all
 * Owns:      nothing changes hands.
 * Errors:    -1 this build cannot, or it was started; the log says which
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_start_abt_profiling(margo_instance_id mid, bool detailed);

/**
 * Stop counting what user-level threads do.
 *
 * @param mid  [in]
 * Owns:      nothing changes hands.
 * Errors:    -1 it was not started
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_stop_abt_profiling(margo_instance_id mid);

/**
 * Write what was counted to a file.
 *
 * @param mid                 [in]
 * @param file_name           [in]  "-": the standard output
 * @param uniquify            [in]  not 0: host and process id are put into the
 *                                   name
 * @param resolved_file_name  [out]  may be NULL
 * Owns:      the name is the caller's; free() ends it.
 * Errors:    -1 the file cannot be written, or nothing was counted; the log
 *            says which
 * Threads:   any thread; writes a file.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_dump_abt_profiling(margo_instance_id mid,
    const char *file_name, int uniquify, char **resolved_file_name);

/**
 * Write to a file, as text, what the instance is doing.
 *
 * @param mid                 [in]
 * @param file_name           [in]  "-": the standard output
 * @param uniquify            [in]  not 0: host and process id are put into the
 *                                   name
 * @param resolved_file_name  [out]  may be NULL
 * Owns:      the name is the caller's; free() ends it.
 * Errors:    -1 the file cannot be written; the log says why
 * Threads:   any thread; writes a file.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_state_dump(margo_instance_id mid, const char *file_name,
    int uniquify, char **resolved_file_name);

/**
 * Set how long the progress loop sleeps at most when nothing happens.
 *
 * Nothing waits for that moment: all there is to do ends the sleep.
 *
 * @param mid      [in]
 * @param timeout  [in]  in milliseconds
 * Owns:      nothing changes hands.
 * Errors:    -1 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_progress_timeout_ub_msec(
    margo_instance_id mid, unsigned timeout);

/**
 * Tell how long the progress loop sleeps at most when nothing happens.
 *
 * @param mid      [in]
 * @param timeout  [out]  in milliseconds
 * Owns:      nothing changes hands.
 * Errors:    -1 an argument is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_get_progress_timeout_ub_msec(
    margo_instance_id mid, unsigned *timeout);

/**
 * Make progress only while an operation of this process is in flight.
 *
 * For clients; requests of others are then seen only meanwhile.
 *
 * @param mid          [in]
 * @param when_needed  [in]
 * Owns:      nothing changes hands.
 * Errors:    -1 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_progress_when_needed(
    margo_instance_id mid, bool when_needed);

/**
 * Let progress be made in another pool.
 *
 * @param mid       [in]
 * @param pool_idx  [in]  as in margo-config.h
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_POOL there is no such pool
 *            ABT_ERR_INV_ARG  mid is NULL, or the instance has ended
 * Threads:   any thread; returns before the loop has moved.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_migrate_progress_loop(
    margo_instance_id mid, uint32_t pool_idx);

/**
 * Set a parameter of an instance by name.
 *
 * @param mid    [in]
 * @param key    [in]  "progress_timeout_ub_msec" (an "s" may follow) is all
 *                     there is
 * @param value  [in]  its number as text
 * Owns:      nothing changes hands.
 * Errors:    -1 the key is unknown, or the value no number; the log says which
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_param(
    margo_instance_id mid, const char *key, const char *value);

#ifdef __cplusplus
}
#endif

#endif
