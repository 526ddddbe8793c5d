/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers: each start of a timer calls a function once, after some time.
 *
 * A timer may be started any number of times. Its callback runs in a user-level
 * thread of its own in a pool, or in the progress loop itself, where it must
 * not block. */
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
 * @param mid     [in]   the Margo instance
 * @param cb_fn   [in]   the function to call, in a user-level thread
 * @param cb_dat  [in]   passed to `cb_fn`; may be NULL
 * @param timer   [out]  the new timer
 * Owns:      the caller owns the result; margo_timer_destroy() frees it.
 *            `cb_dat` must live as long as the timer is used.
 * Errors:    -1 `mid`, `cb_fn` or `timer` is NULL, or no memory; the log says
 *               so
 * Threads:   any thread; never blocks.
 * Undefined: the instance ended during the call.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_create(margo_instance_id mid,
    margo_timer_callback_fn cb_fn, void *cb_dat, margo_timer_t *timer);

/**
 * Create a timer whose callback runs in a given pool.
 *
 * @param mid     [in]   the Margo instance
 * @param cb_fn   [in]   the function to call, in a user-level thread
 * @param cb_dat  [in]   passed to `cb_fn`; may be NULL
 * @param pool    [in]   ABT_POOL_NULL: `cb_fn` runs in the progress loop, and
 *                       must not block: the loop makes no progress meanwhile
 * @param timer   [out]  the new timer
 * Owns:      the caller owns the result; margo_timer_destroy() frees it.
 *            `cb_dat` and `pool` must live as long as the timer is used.
 * Errors:    -1 `mid`, `cb_fn` or `timer` is NULL, or no memory; the log says
 *               so
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
 * @param timer       [in]  of margo_timer_create()
 * @param timeout_ms  [in]  milliseconds, may have a fraction; 0: in the next
 *                          round of the progress loop
 * Owns:      nothing changes hands.
 * Errors:    -1 timer is NULL or destroyed, was started and has not fired yet,
 *               or is being cancelled; `timeout_ms` is negative or no number;
 *               the instance makes no progress any more
 * Threads:   any thread, also the callback; never blocks.
 * Undefined: nothing.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_start(margo_timer_t timer, double timeout_ms);

/**
 * Cancel a timer, and wait until its callback does not run any more.
 *
 * A callback that is in its pool and has not begun does not run. The call waits
 * for a callback that runs; until then the timer cannot be started again. If
 * the timer's own callback cancels it, the call does not wait.
 *
 * @param timer  [in]  may not have been started
 * Owns:      nothing changes hands.
 * Errors:    -1 timer is NULL or destroyed; or the callback still runs, and the
 *               caller is a tasklet, which cannot wait
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: nothing.
 * Source:    as Margo 0.24, but allowed in the callback.
 */
HG_PUBLIC int margo_timer_cancel(margo_timer_t timer);

/**
 * Cancel several timers, and then wait for the callbacks of all of them.
 *
 * @param n       [in]  how many
 * @param timers  [in]  entries that are MARGO_TIMER_NULL are skipped
 * Owns:      nothing changes hands.
 * Errors:    -1 timers is NULL and `n` is not 0; a timer is destroyed, and then
 *               no timer is cancelled; or as margo_timer_cancel()
 * Threads:   any thread; waits; other user-level threads of the stream run
 *            meanwhile.
 * Undefined: nothing.
 * Source:    as Margo 0.24, but allowed in a callback.
 */
HG_PUBLIC int margo_timer_cancel_many(size_t n, margo_timer_t *timers);

/**
 * Destroy a timer.
 *
 * A started timer is not cancelled: it still fires, and is freed afterwards. So
 * a program may destroy a timer in its callback or right after its start.
 *
 * @param timer  [in]  of margo_timer_create()
 * Owns:      the timer is consumed.
 * Errors:    -1 timer is NULL, or was destroyed before
 * Threads:   any thread; never blocks.
 * Undefined: the timer used later, when another one has been created.
 * Source:    as Margo 0.24.
 */
HG_PUBLIC int margo_timer_destroy(margo_timer_t timer);

#ifdef __cplusplus
}
#endif

#endif
