/* SPDX-License-Identifier: BSD-3-Clause */
/* No thread passes a barrier before all have arrived: more threads than
 * streams, a barrier reset to another number, and one at which whole streams
 * wait. */
#include "ult.h"

#include <stdatomic.h>

enum { THREADS = 12, ROUNDS = 100, STREAMS = 3 };

static ABT_barrier barrier;
static ABT_xstream_barrier xstream_barrier;
static atomic_int come[ROUNDS];
static int meeting; /* number of threads at the barrier */

static void meet(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&come[i], 1);
        OK(ABT_barrier_wait(barrier));
        CHECK(atomic_load(&come[i]) == meeting);
    }
}

static void meet_streams(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&come[i], 1);
        OK(ABT_xstream_barrier_wait(xstream_barrier));
        CHECK(atomic_load(&come[i]) == meeting);
    }
}

static void run(int count, void (*function)(void *arg))
{
    ABT_thread threads[THREADS];

    meeting = count;
    for (int i = 0; i < ROUNDS; i++)
        atomic_store(&come[i], 0);
    for (int i = 0; i < count; i++)
        threads[i] = ult_start(i, function, NULL);
    for (int i = 0; i < count; i++)
        ult_join(&threads[i]);
}

int main(void)
{
    uint32_t count = 0;

    ult_begin(STREAMS);
    OK(ABT_barrier_create(THREADS, &barrier));
    run(THREADS, meet);
    OK(ABT_barrier_reinit(barrier, THREADS / 2));
    OK(ABT_barrier_get_num_waiters(barrier, &count));
    CHECK(count == THREADS / 2);
    run(THREADS / 2, meet);
    OK(ABT_barrier_free(&barrier));
    OK(ABT_xstream_barrier_create(STREAMS, &xstream_barrier));
    run(STREAMS, meet_streams);
    OK(ABT_xstream_barrier_free(&xstream_barrier));
    ult_end();
    return 0;
}
