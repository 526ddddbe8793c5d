/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings for ABT_init(), and counters of the progress loop. */
#ifndef MARGO_UTIL_H
#define MARGO_UTIL_H

#include <stdint.h>

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set the number of stacks of ended user-level threads that each stream keeps.
 *
 * Sets ABT_MEM_MAX_NUM_STACKS in the environment, where ABT_init() finds it.
 *
 * @param max_num_stacks  [in]  the number; 0 keeps none
 * Owns:      nothing changes hands.
 * Errors:    -1 ABT_init() was called already, or no memory; nothing was set
 * Threads:   one thread, while no other uses the environment; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_abt_mem_max_num_stacks(unsigned max_num_stacks);

/**
 * Set the default stack size of user-level threads.
 *
 * Sets ABT_THREAD_STACKSIZE in the environment, where ABT_init() finds it.
 *
 * @param stacksize  [in]  bytes
 * Owns:      nothing changes hands.
 * Errors:    -1 ABT_init() was called already, or no memory; nothing was set
 * Threads:   one thread, while no other uses the environment; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_set_abt_thread_stacksize(unsigned stacksize);

/**
 * Get the number of calls of HG_Progress() by the instance's progress loops.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    0 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC uint64_t margo_get_num_progress_calls(margo_instance_id mid);

/**
 * Get the number of calls of HG_Trigger() by the instance's progress loops.
 *
 * @param mid  [in]  the Margo instance
 * Owns:      nothing changes hands.
 * Errors:    0 mid is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC uint64_t margo_get_num_trigger_calls(margo_instance_id mid);

#ifdef __cplusplus
}
#endif

#endif
