/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of user-level threads before they start, and what the progress loop
 * has done. */
#ifndef MARGO_UTIL_H
#define MARGO_UTIL_H

#include <stdint.h>

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Say how many stacks of ended user-level threads each stream keeps.
 *
 * Sets ABT_MEM_MAX_NUM_STACKS in the environment, where ABT_init() finds it.
 *
 * @param max_num_stacks  [in]
 * Owns:      nothing changes hands.
 * Errors:    -1 ABT_init() was called already, or no memory; nothing was set
 * Threads:   one thread, before others use the environment; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_abt_mem_max_num_stacks(unsigned max_num_stacks);

/**
 * Say how large the stack of a user-level thread is when nothing else does.
 *
 * Sets ABT_THREAD_STACKSIZE in the environment, where ABT_init() finds it.
 *
 * @param stacksize  [in]  bytes
 * Owns:      nothing changes hands.
 * Errors:    -1 ABT_init() was called already, or no memory; nothing was set
 * Threads:   one thread, before others use the environment; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_abt_thread_stacksize(unsigned stacksize);

/**
 * How many times the loop of an instance has called HG_Progress().
 *
 * @param mid  [in]
 * Owns:      nothing changes hands.
 * Errors:    0 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC uint64_t margo_get_num_progress_calls(margo_instance_id mid);

/**
 * How many times the loop of an instance has called HG_Trigger().
 *
 * @param mid  [in]
 * Owns:      nothing changes hands.
 * Errors:    0 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended meanwhile.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC uint64_t margo_get_num_trigger_calls(margo_instance_id mid);

#ifdef __cplusplus
}
#endif

#endif
