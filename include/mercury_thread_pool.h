/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread pool that starts posted work in the order of the posts. */
#ifndef MERCURY_THREAD_POOL_H
#define MERCURY_THREAD_POOL_H

#include "mercury_queue.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"

typedef struct hg_thread_pool hg_thread_pool_t;

/* Owned by the program, which sets `func` and `args`, and keeps the struct
 * until `func` is called: then the struct may be used again, or freed. */
struct hg_thread_work {
    hg_thread_func_t func; /* the result is ignored */
    void *args;
    HG_QUEUE_ENTRY(hg_thread_work) entry; /* of the pool, while posted */
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Start the threads of a pool.
 *
 * @param thread_count  [in]   at least 1
 * @param pool          [out]  the new pool
 * Owns:      the caller owns the result; hg_thread_pool_destroy() frees it.
 * Errors:    HG_UTIL_FAIL thread_count is 0, pool is NULL, no memory, or the
 *                         system gives no more threads; nothing is left behind
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
 * Threads:   one thread, which is not in the pool; waits for the work.
 * Undefined: a thread that is not in the pool posts work during the call.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_pool_destroy(hg_thread_pool_t *pool);

/**
 * Post work to the threads of a pool.
 *
 * @param pool  [in]  of hg_thread_pool_init()
 * @param work  [in]  the function to run and its argument
 * Owns:      the memory stays the caller's and must live until its function is
 *            called.
 * Errors:    HG_UTIL_FAIL an argument or the function is NULL
 * Threads:   any thread; never blocks. A thread of the pool calls the function,
 *            with no lock held.
 * Undefined: the work is posted already.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_pool_post(
    hg_thread_pool_t *pool, struct hg_thread_work *work);

#ifdef __cplusplus
}
#endif

#endif
