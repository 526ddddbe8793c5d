/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that hands its stream to another one is ready for all streams of its
 * pool: a sleeping one is woken for it. */
#include "ult.h"

#include <sched.h>
#include <stdatomic.h>

enum { STREAMS = 2, ROUNDS = 10 };

static ABT_pool pool;
static atomic_bool is_back;

/* Occupies the stream until the other thread runs again, on the other
 * stream. */
static void hold_stream(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_back))
        sched_yield();
}

static void give_stream(void *arg)
{
    ABT_thread other = ABT_THREAD_NULL;

    (void)arg;
    /* Lets the other stream block, or it would find the thread anyway. */
    for (int i = 0; i < 1000; i++)
        sched_yield();
    OK(ABT_thread_create_to(
        pool, hold_stream, NULL, ABT_THREAD_ATTR_NULL, &other));
    atomic_store(&is_back, true);
    OK(ABT_thread_free(&other));
}

int main(void)
{
    ABT_xstream streams[STREAMS];

    OK(ABT_init(0, NULL));
    OK(ABT_pool_create_basic(
        ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool));
    for (int i = 0; i < STREAMS; i++)
        OK(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &pool,
            ABT_SCHED_CONFIG_NULL, &streams[i]));
    for (int i = 0; i < ROUNDS; i++) {
        ABT_thread thread = ABT_THREAD_NULL;

        atomic_store(&is_back, false);
        OK(ABT_thread_create(
            pool, give_stream, NULL, ABT_THREAD_ATTR_NULL, &thread));
        OK(ABT_thread_free(&thread));
    }
    for (int i = 0; i < STREAMS; i++)
        OK(ABT_xstream_free(&streams[i]));
    OK(ABT_finalize());
    return 0;
}
