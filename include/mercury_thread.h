/* SPDX-License-Identifier: BSD-3-Clause */
/* POSIX threads, under Mercury's names. */
#ifndef MERCURY_THREAD_H
#define MERCURY_THREAD_H

#include <pthread.h>
#include <sched.h>

#include "mercury_util_config.h"

typedef pthread_t hg_thread_t;
typedef pthread_key_t hg_thread_key_t;
typedef cpu_set_t hg_cpu_set_t;

/* Function of a thread; its result is ignored. */
typedef void *hg_thread_ret_t;
typedef hg_thread_ret_t (*hg_thread_func_t)(void *);
#define HG_THREAD_RETURN_TYPE hg_thread_ret_t

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Set a thread variable to "no thread".
 *
 * @param thread  [out]  the variable to initialise
 * Owns:      nothing changes hands.
 * Errors:    NULL has no effect.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_thread_init(hg_thread_t *thread);

/**
 * Start a thread.
 *
 * @param thread  [out]  the new thread
 * @param f       [in]   the function that the thread runs
 * @param data    [in]   passed to `f`
 * Owns:      the caller owns the thread; hg_thread_join() frees it. `data` must
 *            live as long as `f` uses it.
 * Errors:    HG_UTIL_FAIL thread or f is NULL, or the system gives no more
 *                         threads; the log says why
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_create(
    hg_thread_t *thread, hg_thread_func_t f, void *data);

/**
 * End the calling thread.
 *
 * @param ret  [in]  ignored
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   a thread of hg_thread_create(); does not return.
 * Undefined: the thread holds a lock.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC void hg_thread_exit(hg_thread_ret_t ret);

/**
 * Wait until a thread has ended.
 *
 * @param thread  [in]  of hg_thread_create() or hg_thread_self()
 * Owns:      the thread is consumed.
 * Errors:    HG_UTIL_FAIL the thread is the caller itself; the log says so
 * Threads:   any thread; waits without limit.
 * Undefined: joined or detached before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_join(hg_thread_t thread);

/**
 * Request cancellation of a thread at its next POSIX cancellation point.
 *
 * @param thread  [in]  of hg_thread_create() or hg_thread_self()
 * Owns:      nothing changes hands; the caller still joins the thread.
 * Errors:    HG_UTIL_FAIL the system does not know the thread
 * Threads:   any thread; never blocks.
 * Undefined: joined or detached before; thread in a call of this library.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_cancel(hg_thread_t thread);

/**
 * Yield the core.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; yields the core.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_yield(void);

/**
 * Create a key for a thread-local pointer, initially NULL.
 *
 * @param key  [out]  the new key
 * Owns:      the caller owns the key; hg_thread_key_delete() frees it. The
 *            program frees the pointers.
 * Errors:    HG_UTIL_FAIL key is NULL, or there are no more keys
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_key_create(hg_thread_key_t *key);

/**
 * Delete a key.
 *
 * @param key  [in]  of hg_thread_key_create()
 * Owns:      the key is consumed.
 * Errors:    HG_UTIL_FAIL there is no such key
 * Threads:   any thread; never blocks.
 * Undefined: another thread uses the key.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_key_delete(hg_thread_key_t key);

/**
 * Get the cores that a thread may run on.
 *
 * @param thread    [in]   of hg_thread_create() or hg_thread_self()
 * @param cpu_mask  [out]  the cores
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL cpu_mask is NULL, or too small for this machine
 * Threads:   any thread; never blocks.
 * Undefined: joined or detached before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_getaffinity(
    hg_thread_t thread, hg_cpu_set_t *cpu_mask);

/**
 * Set the cores that a thread may run on.
 *
 * @param thread    [in]  of hg_thread_create() or hg_thread_self()
 * @param cpu_mask  [in]  the cores
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL cpu_mask is NULL, or names no core that the process
 *                         may use; nothing changed
 * Threads:   any thread; never blocks.
 * Undefined: joined or detached before.
 * Source:    as Mercury 2.4.
 */
HG_UTIL_PUBLIC int hg_thread_setaffinity(
    hg_thread_t thread, const hg_cpu_set_t *cpu_mask);

/**
 * Get the calling thread.
 *
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE hg_thread_t hg_thread_self(void)
{
    return pthread_self();
}

/**
 * Tell whether two variables name the same thread; 0: no.
 *
 * @param t1  [in]  a thread
 * @param t2  [in]  a thread
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_equal(hg_thread_t t1, hg_thread_t t2)
{
    return pthread_equal(t1, t2);
}

/**
 * Get the calling thread's pointer of a key, or NULL.
 *
 * @param key  [in]  of hg_thread_key_create()
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: there is no such key.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE void *hg_thread_getspecific(hg_thread_key_t key)
{
    return pthread_getspecific(key);
}

/**
 * Set the calling thread's pointer of a key.
 *
 * @param key    [in]  of hg_thread_key_create()
 * @param value  [in]  the pointer; NULL is allowed
 * Owns:      nothing changes hands.
 * Errors:    HG_UTIL_FAIL there is no such key, or no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE int hg_thread_setspecific(
    hg_thread_key_t key, const void *value)
{
    return pthread_setspecific(key, value) == 0 ? HG_UTIL_SUCCESS
                                                : HG_UTIL_FAIL;
}

#ifdef __cplusplus
}
#endif

#endif
