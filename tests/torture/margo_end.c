/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of an instance of Margo under torture: who asks for it, what is under
 * way by then, and what its callbacks do.
 *
 * Calls that are posted before margo_finalize() end well, as do calls of a
 * prefinalize callback. A reference keeps the handles of these until their
 * results have been read. */
#include <stdlib.h>
#include <time.h>

#include "margo_torture.h"

enum { DRAW_END = 11000, APART_NS = 30000000 };

/* Who asks for the end. */
enum asker { ASK_WAIT, ASK_FINALIZE, ASK_THREAD, ASK_FOREIGN, ASKERS };

static void before_end(void *arg)
{
    struct mt *mt = arg;

    atomic_fetch_add(&mt->ends, 1);
    mt_call(mt, mt_id_root(mt->index, mt->rank, mt_last_number(mt)));
}

static void after_end(void *arg)
{
    struct mt *mt = arg;
    hg_handle_t handle = HG_HANDLE_NULL;

    atomic_fetch_add(&mt->ends, 1);
    if (margo_create(mt->mid, mt->addrs[mt->rank], mt->call_ids[0], &handle) !=
        HG_SUCCESS)
        return;
    if (margo_forward(handle, NULL) == HG_SUCCESS)
        book_finding(mt->book, "a call after the end succeeded");
    MT_OK(mt, margo_destroy(handle));
}

static void ask(void *arg)
{
    margo_finalize(arg);
}

static void *ask_foreign(void *arg)
{
    margo_finalize(arg);
    return NULL;
}

static void finalize(struct mt *mt, enum asker asker)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    pthread_t foreign;

    switch (asker) {
    case ASK_WAIT:
        margo_finalize_and_wait(mt->mid);
        break;
    case ASK_FINALIZE:
        margo_finalize(mt->mid);
        break;
    case ASK_THREAD:
        if (mt_main_pool(&pool) != ABT_SUCCESS ||
            ABT_thread_create(pool, ask, mt->mid, ABT_THREAD_ATTR_NULL,
                &thread) != ABT_SUCCESS)
            abort();
        margo_wait_for_finalize(mt->mid);
        (void)ABT_thread_free(&thread);
        break;
    default:
        if (pthread_create(&foreign, NULL, ask_foreign, mt->mid) != 0)
            abort();
        margo_wait_for_finalize(mt->mid);
        (void)pthread_join(foreign, NULL);
        break;
    }
}

/* This rank computes while the others end, or ends long before them. */
static void apart(const struct mt *mt)
{
    const struct timespec moment = {0, APART_NS};
    const struct plan *plan = mt->plan;

    if ((plan->end == PLAN_END_EARLY && plan->end_rank != mt->rank) ||
        (plan->end == PLAN_END_LATE && plan->end_rank == mt->rank))
        (void)nanosleep(&moment, NULL);
}

void mt_end(struct mt *mt)
{
    struct mt_steps steps = {.hash = mt->hash + DRAW_END + mt->rank};
    struct mt_burst *burst = NULL;
    enum asker asker = (enum asker)mt_step(&steps, ASKERS);

    MT_OK(mt, margo_instance_ref_incr(mt->mid));
    margo_push_prefinalize_callback(mt->mid, before_end, mt);
    margo_push_finalize_callback(mt->mid, after_end, mt);
    if (mt->plan->end == PLAN_END_AT_ONCE)
        burst = mt_burst_post(mt);
    apart(mt);
    finalize(mt, asker);
    if (burst != NULL)
        mt_burst_finish(burst);
    if (atomic_load(&mt->ends) != 2)
        book_finding(mt->book, "the callbacks of the end ran %u times, not 2",
            atomic_load(&mt->ends));
    mt_release(mt);
    MT_OK(mt, margo_instance_release(mt->mid));
}
