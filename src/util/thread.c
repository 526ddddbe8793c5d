/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads, locks and thread pools of mercury_thread*.h. */
#include <pthread.h>
#include <stdalign.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_thread.h"
#include "mercury_thread_condition.h"
#include "mercury_thread_mutex.h"
#include "mercury_thread_pool.h"
#include "mercury_thread_rwlock.h"
#include "mercury_thread_spin.h"

static int result_of(bool is_done)
{
    return is_done ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

/* Returns a code for `err`, an errno value or 0; logs the failure `what`. */
static int result_report(int err, const char *what)
{
    if (err == 0)
        return HG_UTIL_SUCCESS;
    AMG_LOG_ERROR("hg_util", "%s: %s", what, strerror(err));
    return HG_UTIL_FAIL;
}

void hg_thread_init(hg_thread_t *thread)
{
    if (thread != NULL)
        memset(thread, 0, sizeof(*thread));
}

int hg_thread_create(hg_thread_t *thread, hg_thread_func_t f, void *data)
{
    if (!AMG_GIVEN(thread) || !AMG_GIVEN(f))
        return HG_UTIL_FAIL;
    return result_report(pthread_create(thread, NULL, f, data),
        "no thread was started; look at 'ulimit -u' and the job's memory");
}

void hg_thread_exit(hg_thread_ret_t ret)
{
    pthread_exit(ret);
}

int hg_thread_join(hg_thread_t thread)
{
    return result_report(pthread_join(thread, NULL), "a thread was not joined");
}

int hg_thread_cancel(hg_thread_t thread)
{
    return result_report(pthread_cancel(thread), "a thread was not cancelled");
}

int hg_thread_yield(void)
{
    return result_of(sched_yield() == 0);
}

int hg_thread_key_create(hg_thread_key_t *key)
{
    if (!AMG_GIVEN(key))
        return HG_UTIL_FAIL;
    return result_report(
        pthread_key_create(key, NULL), "no thread-specific key was created");
}

int hg_thread_key_delete(hg_thread_key_t key)
{
    return result_report(
        pthread_key_delete(key), "a thread-specific key was not deleted");
}

int hg_thread_getaffinity(hg_thread_t thread, hg_cpu_set_t *cpu_mask)
{
    if (!AMG_GIVEN(cpu_mask))
        return HG_UTIL_FAIL;
    return result_report(
        pthread_getaffinity_np(thread, sizeof(*cpu_mask), cpu_mask),
        "the affinity of a thread cannot be read");
}

int hg_thread_setaffinity(hg_thread_t thread, const hg_cpu_set_t *cpu_mask)
{
    if (!AMG_GIVEN(cpu_mask))
        return HG_UTIL_FAIL;
    return result_report(
        pthread_setaffinity_np(thread, sizeof(*cpu_mask), cpu_mask),
        "a thread was not bound; does the process have the given cores "
        "(taskset -p)?");
}

static int mutex_init(hg_thread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    int err = 0;

    if (!AMG_CONTRACT_OF(
            "hg_thread_mutex_init", mutex != NULL, "mutex is NULL") ||
        pthread_mutexattr_init(&attr) != 0)
        return HG_UTIL_FAIL;
    err = pthread_mutexattr_settype(&attr, type);
    if (err == 0)
        err = pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return result_of(err == 0);
}

int hg_thread_mutex_init(hg_thread_mutex_t *mutex)
{
    return mutex_init(mutex, PTHREAD_MUTEX_ERRORCHECK);
}

int hg_thread_mutex_init_fast(hg_thread_mutex_t *mutex)
{
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    return mutex_init(mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
#else
    return mutex_init(mutex, PTHREAD_MUTEX_NORMAL);
#endif
}

int hg_thread_mutex_destroy(hg_thread_mutex_t *mutex)
{
    return result_of(AMG_GIVEN(mutex) && pthread_mutex_destroy(mutex) == 0);
}

/* Timed waits use pthread_cond_clockwait() with CLOCK_MONOTONIC: a condition's
 * own clock is CLOCK_REALTIME here, which may be set back. */

enum { NS_PER_S = 1000000000 };

int hg_thread_cond_init(hg_thread_cond_t *cond)
{
    return result_of(AMG_GIVEN(cond) && pthread_cond_init(cond, NULL) == 0);
}

int hg_thread_cond_destroy(hg_thread_cond_t *cond)
{
    return result_of(AMG_GIVEN(cond) && pthread_cond_destroy(cond) == 0);
}

int hg_thread_cond_timedwait(
    hg_thread_cond_t *cond, hg_thread_mutex_t *mutex, unsigned int timeout)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout);
    struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };

    return result_of(
        AMG_GIVEN(cond) && AMG_GIVEN(mutex) &&
        pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) == 0);
}

_Static_assert(sizeof(hg_thread_rwlock_t) >= sizeof(pthread_rwlock_t) &&
                   alignof(hg_thread_rwlock_t) >= alignof(pthread_rwlock_t),
    "hg_thread_rwlock_t has the room of a lock");

static pthread_rwlock_t *lock_in(hg_thread_rwlock_t *rwlock)
{
    return (pthread_rwlock_t *)(void *)rwlock->room;
}

int hg_thread_rwlock_init(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_init(lock_in(rwlock), NULL) == 0);
}

int hg_thread_rwlock_destroy(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_destroy(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_rdlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_rdlock(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_try_rdlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_tryrdlock(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_release_rdlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_unlock(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_wrlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_wrlock(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_try_wrlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_trywrlock(lock_in(rwlock)) == 0);
}

int hg_thread_rwlock_release_wrlock(hg_thread_rwlock_t *rwlock)
{
    return result_of(
        AMG_GIVEN(rwlock) && pthread_rwlock_unlock(lock_in(rwlock)) == 0);
}

_Static_assert(sizeof(hg_thread_spin_t) == sizeof(pthread_spinlock_t),
    "hg_thread_spin_t has the room of a lock");

int hg_thread_spin_init(hg_thread_spin_t *lock)
{
    return result_of(AMG_GIVEN(lock) &&
                     pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE) == 0);
}

int hg_thread_spin_destroy(hg_thread_spin_t *lock)
{
    return result_of(AMG_GIVEN(lock) && pthread_spin_destroy(lock) == 0);
}

int hg_thread_spin_lock(hg_thread_spin_t *lock)
{
    return result_of(AMG_GIVEN(lock) && pthread_spin_lock(lock) == 0);
}

int hg_thread_spin_try_lock(hg_thread_spin_t *lock)
{
    return result_of(AMG_GIVEN(lock) && pthread_spin_trylock(lock) == 0);
}

int hg_thread_spin_unlock(hg_thread_spin_t *lock)
{
    return result_of(AMG_GIVEN(lock) && pthread_spin_unlock(lock) == 0);
}

/* Thread pools. A thread that finds the queue empty ends if the pool is to end,
 * else the thread sleeps. So all posted work is run before the last thread has
 * ended, also work that other work has posted. */

/* Owned by the program, from init to destroy. */
struct hg_thread_pool {
    hg_thread_mutex_t mutex; /* guards queue, sleepers and is_ending */
    hg_thread_cond_t changed;
    HG_QUEUE_HEAD(hg_thread_work) queue;
    unsigned sleepers;
    bool is_ending;
    unsigned thread_count;
    hg_thread_t threads[];
};

/* Waits for the next piece of work. NULL: none is left, and the pool ends. */
static struct hg_thread_work *work_next(struct hg_thread_pool *pool)
{
    struct hg_thread_work *work = NULL;

    hg_thread_mutex_lock(&pool->mutex);
    while (HG_QUEUE_IS_EMPTY(&pool->queue) && !pool->is_ending) {
        pool->sleepers++;
        hg_thread_cond_wait(&pool->changed, &pool->mutex);
        pool->sleepers--;
    }
    work = HG_QUEUE_FIRST(&pool->queue);
    if (work != NULL)
        HG_QUEUE_POP_HEAD(&pool->queue, entry);
    hg_thread_mutex_unlock(&pool->mutex);
    return work;
}

static hg_thread_ret_t pool_run(void *arg)
{
    struct hg_thread_work *work = NULL;

    /* The program may free the work as soon as its function runs. */
    while ((work = work_next(arg)) != NULL)
        (void)work->func(work->args);
    return NULL;
}

/* Joins the threads that were started; they end when the queue is empty. */
static void threads_join(struct hg_thread_pool *pool)
{
    hg_thread_mutex_lock(&pool->mutex);
    pool->is_ending = true;
    hg_thread_cond_broadcast(&pool->changed);
    hg_thread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->thread_count; i++)
        hg_thread_join(pool->threads[i]);
}

int hg_thread_pool_init(unsigned int thread_count, hg_thread_pool_t **pool)
{
    struct hg_thread_pool *made = NULL;

    if (!AMG_CONTRACT(thread_count > 0,
            "thread_count is 0; a pool has at least 1 thread") ||
        !AMG_GIVEN(pool))
        return HG_UTIL_FAIL;
    made =
        amg_mem_zalloc(sizeof(*made) + thread_count * sizeof(made->threads[0]));
    if (made == NULL)
        return HG_UTIL_FAIL;
    HG_QUEUE_INIT(&made->queue);
    if (hg_thread_mutex_init_fast(&made->mutex) != HG_UTIL_SUCCESS)
        goto free_pool;
    if (hg_thread_cond_init(&made->changed) != HG_UTIL_SUCCESS)
        goto destroy_mutex;
    while (made->thread_count < thread_count) {
        if (hg_thread_create(&made->threads[made->thread_count], pool_run,
                made) != HG_UTIL_SUCCESS)
            goto join_threads;
        made->thread_count++;
    }
    *pool = made;
    return HG_UTIL_SUCCESS;

join_threads:
    threads_join(made);
    hg_thread_cond_destroy(&made->changed);
destroy_mutex:
    hg_thread_mutex_destroy(&made->mutex);
free_pool:
    amg_mem_free(made);
    return HG_UTIL_FAIL;
}

int hg_thread_pool_destroy(hg_thread_pool_t *pool)
{
    if (pool == NULL)
        return HG_UTIL_SUCCESS;
    threads_join(pool);
    AMG_ASSERT(HG_QUEUE_IS_EMPTY(&pool->queue));
    hg_thread_cond_destroy(&pool->changed);
    hg_thread_mutex_destroy(&pool->mutex);
    amg_mem_free(pool);
    return HG_UTIL_SUCCESS;
}

int hg_thread_pool_post(hg_thread_pool_t *pool, struct hg_thread_work *work)
{
    if (!AMG_GIVEN(pool) || !AMG_GIVEN(work) || !AMG_GIVEN(work->func))
        return HG_UTIL_FAIL;
    hg_thread_mutex_lock(&pool->mutex);
    HG_QUEUE_PUSH_TAIL(&pool->queue, work, entry);
    if (pool->sleepers > 0)
        hg_thread_cond_signal(&pool->changed);
    hg_thread_mutex_unlock(&pool->mutex);
    return HG_UTIL_SUCCESS;
}
