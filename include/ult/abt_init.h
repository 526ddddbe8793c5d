/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the runtime, error names, timers. */
#ifndef ABT_INIT_H
#define ABT_INIT_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Start the runtime; the calling thread becomes the primary thread of the
 * primary stream.
 *
 * Further calls only increment a counter.
 *
 * @param argc  [in]  not read
 * @param argv  [in]  not read
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_MEM  no memory for the runtime or a stack
 * Threads:   one thread at a time; one thread makes the first call and the last
 *            ABT_finalize().
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_init(int argc, char **argv);

/**
 * Undo one ABT_init(); the last call ends the runtime.
 *
 * Streams that were not freed are joined first.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_UNINITIALIZED  the runtime was not started
 *            ABT_ERR_INV_XSTREAM, ABT_ERR_INV_THREAD  the last call, made by
 *              another thread than the primary; nothing changed
 * Threads:   one thread at a time; the primary thread makes the last call.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_finalize(void);

/**
 * Tell whether the runtime was started.
 *
 * Owns:      nothing changes hands.
 * Errors:    ABT_SUCCESS  the runtime was started
 *            ABT_ERR_UNINITIALIZED  the runtime was not started
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_initialized(void);

/**
 * Get the name of an error code.
 *
 * @param err  [in]  a result of a function
 * @param str  [out]  the name, with NUL; may be NULL
 * @param len  [out]  the length of the name without NUL; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  no such error
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_error_get_str(int err, char *str, size_t *len);

/**
 * Get the seconds since a fixed point in time.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC double ABT_get_wtime(void);

/**
 * Create a stopwatch.
 *
 * @param newtimer  [out]  the timer
 * Owns:      the caller owns the result; ABT_timer_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newtimer is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_create(ABT_timer *newtimer);

/**
 * Create a stopwatch with the times of another stopwatch.
 *
 * @param timer     [in]  the timer
 * @param newtimer  [out]  the copy
 * Owns:      the caller owns the result; ABT_timer_free() frees it.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 *            ABT_ERR_INV_ARG  newtimer is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_dup(ABT_timer timer, ABT_timer *newtimer);

/**
 * Destroy a stopwatch.
 *
 * @param timer  [in,out]  the timer; becomes ABT_TIMER_NULL
 * Owns:      the timer is consumed.
 * Errors:    ABT_ERR_INV_TIMER  *timer is ABT_TIMER_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_free(ABT_timer *timer);

/**
 * Start a stopwatch.
 *
 * @param timer  [in]  the timer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 * Threads:   any thread, one at a time per timer; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_start(ABT_timer timer);

/**
 * Stop a stopwatch.
 *
 * @param timer  [in]  the timer
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 * Threads:   any thread, one at a time per timer; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_stop(ABT_timer timer);

/**
 * Get the seconds from the start of a stopwatch to its stop.
 *
 * @param timer  [in]  the timer
 * @param secs   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 *            ABT_ERR_INV_ARG  secs is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_read(ABT_timer timer, double *secs);

/**
 * Stop a stopwatch, and get its seconds.
 *
 * @param timer  [in]  the timer
 * @param secs   [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 *            ABT_ERR_INV_ARG  secs is NULL
 * Threads:   any thread, one at a time per timer; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_stop_and_read(ABT_timer timer, double *secs);

/**
 * Stop a stopwatch, and add its seconds to a variable.
 *
 * @param timer  [in]  the timer
 * @param secs   [in,out]  the variable
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_TIMER  timer is NULL
 *            ABT_ERR_INV_ARG  secs is NULL
 * Threads:   any thread, one at a time per timer; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_stop_and_add(ABT_timer timer, double *secs);

/**
 * Get the seconds that one start and one stop of a stopwatch take.
 *
 * @param overhead  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_ARG  overhead is NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_timer_get_overhead(double *overhead);

#ifdef __cplusplus
}
#endif

#endif
