/* SPDX-License-Identifier: BSD-3-Clause */
/* ABT_finalize() waits for the threads of the primary stream: also for those in
 * a timed wait, and those of its scheduler's other pools. */
#include "ult.h"

enum { POOLS = 2, ROUNDS = 2, MOMENT_MS = 20 };

static ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;
static ABT_cond_memory cond_memory = ABT_COND_INITIALIZER;
static int ended;

static void wait_for_nobody(void *arg)
{
    ABT_mutex mutex = ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory);
    struct timespec moment = ult_moment(MOMENT_MS);

    (void)arg;
    OK(ABT_mutex_lock(mutex));
    GIVES(ABT_ERR_COND_TIMEDOUT,
        ABT_cond_timedwait(
            ABT_COND_MEMORY_GET_HANDLE(&cond_memory), mutex, &moment));
    OK(ABT_mutex_unlock(mutex));
    ended++;
}

static void yield_once(void *arg)
{
    (void)arg;
    OK(ABT_thread_yield());
    ended++;
}

static void timed_wait_ends(void)
{
    ended = 0;
    ult_begin(1);
    OK(ABT_thread_create(
        ult_pool(0), wait_for_nobody, NULL, ABT_THREAD_ATTR_NULL, NULL));
    OK(ABT_thread_yield());
    ult_end();
    CHECK(ended == 1);
}

static void all_pools_run_dry(void)
{
    ABT_pool pools[POOLS] = {ABT_POOL_NULL, ABT_POOL_NULL};
    ABT_xstream self = ABT_XSTREAM_NULL;

    ended = 0;
    OK(ABT_init(0, NULL));
    OK(ABT_xstream_self(&self));
    OK(ABT_xstream_set_main_sched_basic(self, ABT_SCHED_PRIO, POOLS, pools));
    OK(ABT_xstream_get_main_pools(self, POOLS, pools));
    for (int i = 0; i < POOLS; i++)
        OK(ABT_thread_create(
            pools[i], yield_once, NULL, ABT_THREAD_ATTR_NULL, NULL));
    OK(ABT_finalize());
    CHECK(ended == POOLS);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        timed_wait_ends();
        all_pools_run_dry();
    }
    return 0;
}
