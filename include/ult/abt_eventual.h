/* SPDX-License-Identifier: BSD-3-Clause */
/* Eventuals and futures: values that threads wait for. */
#ifndef ABT_EVENTUAL_H
#define ABT_EVENTUAL_H

#include <time.h>

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct timespec; /* not declared by <time.h> of strict C99 */

/**
 * Create an eventual, which passes one value to all threads that wait for it.
 *
 * @param nbytes       [in]  size of the value; 0: no value
 * @param neweventual  [out]  the eventual
 * Owns:      the caller owns the result; ABT_eventual_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  neweventual is NULL
 *            ABT_ERR_INV_ARG  nbytes is negative
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_create(int nbytes, ABT_eventual *neweventual);

/**
 * Destroy an eventual that was created.
 *
 * @param eventual  [in,out]  the eventual; becomes ABT_EVENTUAL_NULL
 * Owns:      the eventual and its value are consumed.
 * Errors:    ABT_ERR_INV_EVENTUAL  *eventual is ABT_EVENTUAL_NULL
 *            ABT_ERR_EVENTUAL  a thread waits; nothing changed
 * Threads:   one thread, when no other uses the eventual.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_free(ABT_eventual *eventual);

/**
 * Wait until an eventual is set.
 *
 * @param eventual  [in]  the eventual
 * @param value     [out]  the value; NULL if nbytes was 0; may be NULL
 * Owns:      the value is borrowed from the eventual.
 * Errors:    ABT_ERR_INV_EVENTUAL  eventual is NULL
 *            ABT_ERR_EVENTUAL  a tasklet would have to wait
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_wait(ABT_eventual eventual, void **value);

/**
 * Wait until an eventual is set, or until a deadline.
 *
 * @param eventual  [in]  the eventual
 * @param value     [out]  the value; NULL if nbytes was 0; may be NULL
 * @param abstime   [in]  the deadline, by CLOCK_REALTIME
 * Owns:      the value is borrowed from the eventual.
 * Errors:    ABT_ERR_INV_EVENTUAL  eventual is NULL
 *            ABT_ERR_INV_ARG  abstime is NULL, or not valid
 *            ABT_ERR_COND_TIMEDOUT  the deadline passed first; value is not
 *                                   written
 *            ABT_ERR_EVENTUAL  a tasklet would have to wait
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots after 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_timedwait(
    ABT_eventual eventual, void **value, const struct timespec *abstime);

/**
 * Tell whether an eventual is set.
 *
 * @param eventual  [in]  the eventual
 * @param value     [out]  the value, if set; may be NULL
 * @param is_ready  [out]  the result
 * Owns:      the value is borrowed from the eventual.
 * Errors:    ABT_ERR_INV_EVENTUAL  eventual is NULL
 *            ABT_ERR_INV_ARG  is_ready is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_test(
    ABT_eventual eventual, void **value, ABT_bool *is_ready);

/**
 * Set an eventual, and wake all threads that wait for it.
 *
 * @param eventual  [in]  the eventual
 * @param value     [in]  copied; may be NULL if nbytes is 0
 * @param nbytes    [in]  at most the `nbytes` of ABT_eventual_create()
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_EVENTUAL  eventual is NULL
 *            ABT_ERR_EVENTUAL  the eventual is set already; nothing changed
 *            ABT_ERR_INV_ARG  nbytes is negative or too large, or value is
 *              NULL and nbytes is not 0
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_set(
    ABT_eventual eventual, void *value, int nbytes);

/**
 * Reset an eventual to "not set".
 *
 * @param eventual  [in]  the eventual
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_EVENTUAL  eventual is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_eventual_reset(ABT_eventual eventual);

/**
 * Create a future, which waits for several values.
 *
 * @param num_compartments  [in]  number of values until the future is ready
 * @param cb_func           [in]  called with all values by the thread that sets
 *                                the last one; may be NULL
 * @param newfuture         [out]  the future
 * Owns:      the caller owns the result; ABT_future_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newfuture is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_create(uint32_t num_compartments,
    void (*cb_func)(void **arg), ABT_future *newfuture);

/**
 * Destroy a future.
 *
 * @param future  [in,out]  the future; becomes ABT_FUTURE_NULL
 * Owns:      the future is consumed; the values stay the program's.
 * Errors:    ABT_ERR_INV_FUTURE  *future is ABT_FUTURE_NULL
 *            ABT_ERR_FUTURE  a thread waits; nothing changed
 * Threads:   one thread, when no other uses the future.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_free(ABT_future *future);

/**
 * Wait until a future has received all its values.
 *
 * @param future  [in]  the future
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_FUTURE  future is NULL
 *            ABT_ERR_FUTURE  a tasklet would have to wait
 * Threads:   waits; other user-level threads of the stream run meanwhile.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_wait(ABT_future future);

/**
 * Tell whether a future has received all its values.
 *
 * @param future    [in]  the future
 * @param is_ready  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_FUTURE  future is NULL
 *            ABT_ERR_INV_ARG  is_ready is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_test(ABT_future future, ABT_bool *is_ready);

/**
 * Set one value of a future; the last value wakes all threads that wait.
 *
 * @param future  [in]  the future
 * @param value   [in]  not interpreted
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_FUTURE  future is NULL
 *            ABT_ERR_FUTURE  all values are set already; nothing changed
 * Threads:   any thread; runs the user's callbacks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_set(ABT_future future, void *value);

/**
 * Reset a future to "no value received".
 *
 * @param future  [in]  the future
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_FUTURE  future is NULL
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_future_reset(ABT_future future);

#ifdef __cplusplus
}
#endif

#endif
