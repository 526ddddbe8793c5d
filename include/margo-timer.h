/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers: each start calls a function once, after a time.
 *
 * A timer is created, started any number of times, cancelled where need be, and
 * destroyed. Its callback runs in a user-level thread of its own in a pool, or
 * in the progress loop itself, where it must not block. */
#ifndef MARGO_TIMER_H
#define MARGO_TIMER_H

#include <stddef.h>

#include "margo.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct margo_timer *margo_timer_t;
#define MARGO_TIMER_NULL ((margo_timer_t)NULL)

typedef void (*margo_timer_callback_fn)(void *arg);

/**
 * Create a timer whose callback runs in the handler pool of the instance.
 *
 * @param mid     [in]
 * @param cb_fn   [in]
 * @param cb_dat  [in]   handed to `cb_fn` as it is; may be NULL
 * @param timer   [out]
 * Owns:      the caller owns the result; margo_timer_destroy() frees it.
 *            `cb_dat` must live as long as the timer is used.
 * Errors:    -1  an argument but `cb_dat` is NULL, or no memory; the log says
 *                so
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_create(margo_instance_id mid,
    margo_timer_callback_fn cb_fn, void *cb_dat, margo_timer_t *timer);

/**
 * Create a timer whose callback runs in a given pool.
 *
 * @param mid     [in]
 * @param cb_fn   [in]
 * @param cb_dat  [in]   handed to `cb_fn` as it is; may be NULL
 * @param pool    [in]   ABT_POOL_NULL: inside of the progress loop, which
 *                       stands still until `cb_fn` has returned; it must not
 *                       block
 * @param timer   [out]
 * Owns:      the caller owns the result; margo_timer_destroy() frees it.
 *            `cb_dat` and `pool` must live as long as the timer is used.
 * Errors:    -1  `mid`, `cb_fn` or `timer` is NULL, or no memory; the log says
 *                so
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_create_with_pool(margo_instance_id mid,
    margo_timer_callback_fn cb_fn, void *cb_dat, ABT_pool pool,
    margo_timer_t *timer);

/**
 * Start a timer: its callback runs once, at least `timeout_ms` from now.
 *
 * @param timer       [in]
 * @param timeout_ms  [in]  milliseconds, may have a fraction; 0: as soon as the
 *                          progress loop comes around
 * Owns:      nothing changes hands.
 * Errors:    -1 timer is NULL, was started and has not fired yet, or is being
 *               cancelled; `timeout_ms` is negative or no number; the instance
 *               makes no progress any more
 * Threads:   any thread, also the callback; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_start(margo_timer_t timer, double timeout_ms);

/**
 * Cancel a timer, and wait until no callback of it runs any more.
 *
 * A callback that was handed to its pool and has not begun is not called, one
 * that runs is waited for, and a start that it makes itself is refused. Called
 * by the timer's own callback, it does not wait for that.
 *
 * @param timer  [in]  may not have been started
 * Owns:      nothing changes hands.
 * Errors:    -1 timer is NULL
 * Threads:   any thread; waits; other user-level threads of its stream run
 *            meanwhile.
 * Undefined: nothing.
 * Source:    as Margo 0.24, but allowed in the callback.
 */
HG_PUBLIC int margo_timer_cancel(margo_timer_t timer);

/**
 * Cancel several timers, and then wait for the callbacks of all.
 *
 * @param n       [in]  how many
 * @param timers  [in]  null timers among them are left out
 * Owns:      nothing changes hands.
 * Errors:    -1 timers is NULL and `n` is not 0
 * Threads:   any thread; waits; other user-level threads of its stream run
 *            meanwhile.
 * Undefined: nothing.
 * Source:    as Margo 0.24, but allowed in a callback.
 */
HG_PUBLIC int margo_timer_cancel_many(size_t n, margo_timer_t *timers);

/**
 * Destroy a timer.
 *
 * It is not cancelled: a started one fires once more, and is freed afterwards;
 * so destroying it in its callback, or right after its start, is fine.
 *
 * @param timer  [in]
 * Owns:      the timer is consumed.
 * Errors:    -1 timer is NULL
 * Threads:   any thread; never blocks.
 * Undefined: used afterwards.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_destroy(margo_timer_t timer);

#ifdef __cplusplus
}
#endif

#endif
