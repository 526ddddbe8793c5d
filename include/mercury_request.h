/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, by which a program waits for callbacks as if calls were blocking.
 *
 * A callback completes a request; until then hg_request_wait() calls progress
 * and trigger. If several threads wait, one thread makes the calls for all. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include "mercury_util_config.h"

typedef struct hg_request_class hg_request_class_t;
typedef struct hg_request hg_request_t;

/* Makes progress for at most `timeout` milliseconds; returns HG_UTIL_SUCCESS,
 * or HG_UTIL_FAIL if nothing happened. */
typedef int (*hg_request_progress_func_t)(unsigned int timeout, void *arg);

/* Runs callbacks, waiting at most `timeout` milliseconds for the first one;
 * `*flag` tells whether any ran. Returns HG_UTIL_SUCCESS or HG_UTIL_FAIL. */
typedef int (*hg_request_trigger_func_t)(
    unsigned int timeout, unsigned int *flag, void *arg);

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a class of requests that use the same two functions.
 *
 * @param progress_func  [in]  makes progress for a limited time, as
 *                             HG_Progress() does
 * @param trigger_func   [in]  runs callbacks, as HG_Trigger() does
 * @param arg            [in]  passed to both functions
 * Owns:      the caller owns the result; hg_request_finalize() frees it. `arg`
 *            must live until then.
 * Errors:    NULL: a function is NULL, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_request_class_t *hg_request_init(
    hg_request_progress_func_t progress_func,
    hg_request_trigger_func_t trigger_func, void *arg);

/**
 * Destroy a class of requests.
 *
 * @param request_class  [in]   NULL is allowed
 * @param arg            [out]  the `arg` of hg_request_init(); may be NULL
 * Owns:      the class is consumed.
 * Errors:    none.
 * Threads:   one thread, when no other uses the class.
 * Undefined: requests of the class still exist.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_request_finalize(
    hg_request_class_t *request_class, void **arg);

/**
 * Create a request, not complete.
 *
 * @param request_class  [in]  of hg_request_init()
 * Owns:      the caller owns the result; hg_request_destroy() frees it.
 * Errors:    NULL: request_class is NULL, or no memory.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC hg_request_t *hg_request_create(
    hg_request_class_t *request_class);

/**
 * Destroy a request.
 *
 * @param request  [in]  NULL is allowed
 * Owns:      the request is consumed.
 * Errors:    none.
 * Threads:   one thread, when no other uses the request.
 * Undefined: a callback completes the request later.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_request_destroy(hg_request_t *request);

/**
 * Make a complete request ready to be completed again.
 *
 * @param request  [in]  of hg_request_create()
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL request is NULL
 * Threads:   any thread, one at a time per request; never blocks.
 * Undefined: another thread waits for the request.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_request_reset(hg_request_t *request);

/**
 * Complete a request; threads that wait for it return.
 *
 * @param request  [in]  of hg_request_create()
 * Owns:      nothing changes hands; a thread that waits may destroy the request
 *            as soon as its wait returns.
 * Errors:    NULL has no effect.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_request_complete(hg_request_t *request);

/**
 * Wait until a request is complete, and call progress and trigger meanwhile.
 *
 * @param request  [in]   of hg_request_create()
 * @param timeout  [in]   milliseconds; 0: trigger and test once
 * @param flag     [out]  HG_UTIL_TRUE if complete, HG_UTIL_FALSE after the
 *                        time-out, which is no error; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL request is NULL
 * Threads:   any thread; may wait up to its time-out; runs the user's callbacks
 *            of this thread and of others.
 * Undefined: called by a callback for a request that needs another callback of
 *            the same trigger call.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_request_wait(
    hg_request_t *request, unsigned int timeout, unsigned int *flag);

/**
 * Wait until all of several requests are complete.
 *
 * @param count    [in]   number of requests
 * @param request  [in]   of hg_request_create()
 * @param timeout  [in]   milliseconds, for all requests together
 * @param flag     [out]  HG_UTIL_TRUE if all are complete; may be NULL
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL count is negative, or a request is NULL
 * Threads:   as hg_request_wait().
 * Undefined: as hg_request_wait().
 * Source:    as Mercury 2.4, but in Mercury the flag is of the last request.
 */
HG_UTIL_PUBLIC int hg_request_waitall(int count, hg_request_t *request[],
    unsigned int timeout, unsigned int *flag);

/**
 * Attach a pointer of the program to a request.
 *
 * @param request  [in]  of hg_request_create()
 * @param data     [in]  the pointer; NULL is allowed
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL request is NULL
 * Threads:   any thread, one at a time per request; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_request_set_data(hg_request_t *request, void *data);

/**
 * Get the pointer that hg_request_set_data() attached, or NULL.
 *
 * @param request  [in]  of hg_request_create()
 * Owns:      nothing changes hands.
 * Errors:    NULL gives NULL.
 * Threads:   any thread, one at a time per request; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void *hg_request_get_data(hg_request_t *request);

#ifdef __cplusplus
}
#endif

#endif
