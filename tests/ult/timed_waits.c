/* SPDX-License-Identifier: BSD-3-Clause */
/* Timed waits end at their deadline and not before it, a signal ends them
 * earlier, and other threads of the stream run meanwhile. */
#include "ult.h"

#include <stdatomic.h>

enum { MANY = 400, SPREAD_MS = 40, RACES = 500 };

static ABT_mutex mutex;
static ABT_cond cond;
static atomic_int timed_out;
static atomic_int running;
static bool is_open; /* guarded by the mutex */

static bool has_come(const struct timespec *moment)
{
    const struct timespec now = ult_moment(0);

    return now.tv_sec > moment->tv_sec ||
           (now.tv_sec == moment->tv_sec && now.tv_nsec >= moment->tv_nsec);
}

/* Waits without a signal. */
static void wait_for_moment(void *arg)
{
    const struct timespec moment = ult_moment((long)(intptr_t)arg);

    OK(ABT_mutex_lock(mutex));
    GIVES(ABT_ERR_COND_TIMEDOUT, ABT_cond_timedwait(cond, mutex, &moment));
    CHECK(has_come(&moment));
    OK(ABT_mutex_unlock(mutex));
    atomic_fetch_add(&timed_out, 1);
}

/* Runs while others wait: it sees that their stream is free. */
static void run_beside(void *arg)
{
    uint64_t *rounds = arg;

    while (atomic_load(&running) != 0) {
        ++*rounds;
        OK(ABT_thread_yield());
    }
}

static void moments_end_waits(void)
{
    ABT_thread threads[MANY];
    ABT_thread beside;
    uint64_t rounds = 0;

    atomic_store(&running, 1);
    beside = ult_start(1, run_beside, &rounds);
    for (intptr_t i = 0; i < MANY; i++)
        threads[i] =
            ult_start((int)i, wait_for_moment, (void *)(i % SPREAD_MS));
    OK(ABT_thread_free_many(MANY, threads));
    CHECK(atomic_load(&timed_out) == MANY);
    atomic_store(&running, 0);
    ult_join(&beside);
    CHECK(rounds > 0);
}

static void wait_for_open(void *arg)
{
    const struct timespec moment = ult_moment(3600000);

    (void)arg;
    OK(ABT_mutex_lock(mutex));
    while (!is_open)
        OK(ABT_cond_timedwait(cond, mutex, &moment));
    OK(ABT_mutex_unlock(mutex));
}

/* Deadlines that are an hour away: only the signal ends these waits. */
static void signals_end_waits(void)
{
    ABT_thread threads[MANY];

    for (int i = 0; i < MANY; i++)
        threads[i] = ult_start(i, wait_for_open, NULL);
    OK(ABT_thread_yield());
    OK(ABT_mutex_lock(mutex));
    is_open = true;
    OK(ABT_cond_broadcast(cond));
    OK(ABT_mutex_unlock(mutex));
    OK(ABT_thread_free_many(MANY, threads));
}

static int turn; /* guarded by the mutex */

/* Signal and deadline coincide; either may be first, none is lost. */
static void race(void *arg)
{
    const int self = (int)(intptr_t)arg;

    for (int i = 0; i < RACES; i++) {
        OK(ABT_mutex_lock(mutex));
        while (turn != self) {
            const struct timespec moment = ult_moment(0);
            const int rc = ABT_cond_timedwait(cond, mutex, &moment);

            CHECK(rc == ABT_SUCCESS || rc == ABT_ERR_COND_TIMEDOUT);
        }
        turn = 1 - self;
        OK(ABT_cond_signal(cond));
        OK(ABT_mutex_unlock(mutex));
    }
}

static void signals_race_moments(void)
{
    ABT_thread one = ult_start(0, race, (void *)0);
    ABT_thread other = ult_start(1, race, (void *)1);

    ult_join(&one);
    ult_join(&other);
}

int main(void)
{
    ult_begin(2);
    OK(ABT_mutex_create(&mutex));
    OK(ABT_cond_create(&cond));
    moments_end_waits();
    signals_end_waits();
    signals_race_moments();
    OK(ABT_cond_free(&cond));
    OK(ABT_mutex_free(&mutex));
    ult_end();
    return 0;
}
