/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that run posted work in order.
 *
 * A thread that finds the queue empty leaves if the pool is to end, else it
 * sleeps; so all posted work is run before the last thread has left, also what
 * that work posts in its turn. */
#include "mercury_thread_pool.h"

#include "base/assert.h"
#include "base/mem.h"

/* Owned by the program, from init to destroy. */
struct hg_thread_pool {
    hg_thread_mutex_t mutex; /* guards all below, but the threads */
    hg_thread_cond_t changed;
    HG_QUEUE_HEAD(hg_thread_work) queue;
    unsigned sleepers;
    bool is_ending;
    unsigned thread_count;
    hg_thread_t threads[];
};

/* The next piece of work; NULL when there is none any more. */
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

    /* The work may be gone as soon as its function runs. */
    while ((work = work_next(arg)) != NULL)
        (void)work->func(work->args);
    return NULL;
}

/* Ends the threads that were started, when the queue is empty. */
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

    if (!AMG_CONTRACT(thread_count > 0) || !AMG_CONTRACT(pool != NULL))
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
    if (!AMG_CONTRACT(pool != NULL) || !AMG_CONTRACT(work != NULL) ||
        !AMG_CONTRACT(work->func != NULL))
        return HG_UTIL_FAIL;
    hg_thread_mutex_lock(&pool->mutex);
    HG_QUEUE_PUSH_TAIL(&pool->queue, work, entry);
    if (pool->sleepers > 0)
        hg_thread_cond_signal(&pool->changed);
    hg_thread_mutex_unlock(&pool->mutex);
    return HG_UTIL_SUCCESS;
}
