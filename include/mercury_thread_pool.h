/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread pool that runs posted work in order. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include "mercury_queue.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"

typedef struct hg_thread_pool hg_thread_pool_t;

/* Owned by the program; it fills in `func` and `args`, and keeps the struct
 * until `func` was called: from then on it may be used again, or freed. */
struct hg_thread_work {
    hg_thread_func_t func; /* what it returns is lost */
    void *args;
    HG_QUEUE_ENTRY(hg_thread_work) entry; /* the pool's, while posted */
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Start the threads of a pool.
 *
 * @param thread_count  [in]   at least 1
 * @param pool          [out]
 * Owns:      the caller owns the result; hg_thread_pool_destroy() frees it.
 * Errors:    HG_UTIL_FAIL thread_count is 0 or pool is NULL, or there is no
 *                         memory or no thread; nothing is left behind
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_pool_init(
    unsigned int thread_count, hg_thread_pool_t **pool);

/**
 * Run all work that was posted, then end the threads and the pool.
 *
 * @param pool  [in]  NULL is allowed
 * Owns:      the pool is consumed.
 * Errors:    none.
 * Threads:   one thread, none of the pool's; waits for the work.
 * Undefined: work is posted during the call by a thread that is none of the
 *            pool's.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_pool_destroy(hg_thread_pool_t *pool);

/**
 * Post work to the threads of a pool.
 *
 * @param pool  [in]
 * @param work  [in]
 * Owns:      the memory stays the caller's and must live until its function is
 *            called.
 * Errors:    HG_UTIL_FAIL an argument or the function is NULL
 * Threads:   any thread; never blocks. The function is called in a thread of
 *            the pool's, with no lock held.
 * Undefined: work that is posted already.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_pool_post(
    hg_thread_pool_t *pool, struct hg_thread_work *work);

#ifdef __cplusplus
}
#endif

#endif
