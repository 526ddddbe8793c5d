/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream gets another main scheduler, twice, while threads of its former,
 * automatic pool are ready or blocked: all of them run to their end there. */
#include <stdatomic.h>

#include "ult.h"

static ABT_xstream stream;
static atomic_int ended;

static void end_there(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;

    OK(ABT_xstream_self(&self));
    CHECK(self == stream);
    atomic_fetch_add(&ended, 1);
}

static void suspend(void *arg)
{
    (void)arg;
    OK(ABT_self_suspend());
    OK(ABT_thread_yield());
    end_there();
}

static void run(void *arg)
{
    (void)arg;
    end_there();
}

/* `arg`: a pool in which to leave a ready thread. */
static void swap(void *arg)
{
    OK(ABT_thread_create(arg, run, NULL, ABT_THREAD_ATTR_NULL, NULL));
    OK(ABT_xstream_set_main_sched_basic(stream, ABT_SCHED_DEFAULT, 0, NULL));
    end_there();
}

static void swap_once(void)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    OK(ABT_xstream_get_main_pools(stream, 1, &pool));
    OK(ABT_thread_create(pool, swap, pool, ABT_THREAD_ATTR_NULL, &thread));
    OK(ABT_thread_free(&thread));
}

static void start_blocked(ABT_thread *ret_thread)
{
    ABT_thread_state state = ABT_THREAD_STATE_READY;

    OK(ABT_thread_create_on_xstream(
        stream, suspend, NULL, ABT_THREAD_ATTR_NULL, ret_thread));
    while (state != ABT_THREAD_STATE_BLOCKED)
        OK(ABT_thread_get_state(*ret_thread, &state));
}

static void resume(ABT_thread thread)
{
    while (ABT_thread_resume(thread) != ABT_SUCCESS) {
    }
}

/* On the primary stream, while main() joins the other one. */
static void resume_later(void *arg)
{
    resume(arg);
}

int main(void)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread threads[4];
    size_t total = 0;

    ult_begin(1);
    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    start_blocked(&threads[0]);
    start_blocked(&threads[1]);
    swap_once();
    resume(threads[0]);
    OK(ABT_thread_free(&threads[0]));
    start_blocked(&threads[2]);
    swap_once();
    OK(ABT_xstream_get_main_pools(stream, 1, &pool));
    OK(ABT_pool_get_total_size(pool, &total));
    CHECK(total == 2);
    resume(threads[2]);
    OK(ABT_thread_free(&threads[2]));
    threads[3] = ult_start(0, resume_later, threads[1]);
    OK(ABT_xstream_join(stream));
    CHECK(atomic_load(&ended) == 7);
    OK(ABT_thread_free(&threads[1]));
    ult_join(&threads[3]);
    OK(ABT_xstream_free(&stream));
    ult_end();
    return 0;
}
