/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers fire once per start, not too early, in their pool or in the loop; a
 * cancelled one does not, and cancelling waits for a running callback. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "margo-timer.h"
#include "pair.h"

enum { TIMERS = 1000, SHORT_MS = 5, LONG_MS = 60000 };

/* State of one timer. */
struct shot {
    margo_timer_t timer;
    atomic_uint fired;
    double due;
    ABT_eventual gate; /* its callback waits for this, if any */
    ABT_eventual over; /* set at the end of the callback */
};

static void shot_fire(void *arg)
{
    struct shot *shot = arg;

    CHECK(ABT_get_wtime() >= shot->due);
    atomic_fetch_add(&shot->fired, 1);
    if (shot->gate != ABT_EVENTUAL_NULL)
        CHECK(ABT_eventual_wait(shot->gate, NULL) == ABT_SUCCESS);
    if (shot->over != ABT_EVENTUAL_NULL)
        CHECK(ABT_eventual_set(shot->over, NULL, 0) == ABT_SUCCESS);
}

static void shot_start(struct shot *shot, double ms)
{
    shot->due = ABT_get_wtime() + ms / 1000.0;
    CHECK(margo_timer_start(shot->timer, ms) == 0);
}

static void fired_wait(struct shot *shot, unsigned times)
{
    while (atomic_load(&shot->fired) < times)
        ABT_thread_yield();
}

static void fires_once_per_start(ABT_pool pool)
{
    struct shot shot = {.timer = NULL};

    CHECK(margo_timer_create_with_pool(
              pair.mid, shot_fire, &shot, pool, &shot.timer) == 0);
    shot_start(&shot, SHORT_MS);
    CHECK(margo_timer_start(shot.timer, SHORT_MS) == -1); /* twice */
    fired_wait(&shot, 1);
    shot_start(&shot, 0);
    fired_wait(&shot, 2);
    CHECK(margo_timer_cancel(shot.timer) == 0);
    CHECK(atomic_load(&shot.fired) == 2);
    CHECK(margo_timer_destroy(shot.timer) == 0);
}

/* All with different times; a third of them is cancelled, one by one or
 * together, and never fires. */
static void many(void)
{
    static struct shot shots[TIMERS];
    margo_timer_t cancelled[TIMERS];
    size_t count = 0;

    for (int i = 0; i < TIMERS; i++) {
        CHECK(margo_timer_create(
                  pair.mid, shot_fire, &shots[i], &shots[i].timer) == 0);
        shot_start(&shots[i], i % 3 == 0 ? LONG_MS : 1 + i * 7919 % 50);
    }
    for (int i = 0; i < TIMERS; i += 3) {
        if (i % 2 == 0)
            CHECK(margo_timer_cancel(shots[i].timer) == 0);
        else
            cancelled[count++] = shots[i].timer;
    }
    cancelled[count++] = MARGO_TIMER_NULL;
    CHECK(margo_timer_cancel_many(count, cancelled) == 0);
    for (int i = 0; i < TIMERS; i++) {
        if (i % 3 != 0)
            fired_wait(&shots[i], 1);
        CHECK(margo_timer_cancel(shots[i].timer) == 0);
        CHECK(margo_timer_destroy(shots[i].timer) == 0);
        CHECK(atomic_load(&shots[i].fired) == (i % 3 != 0));
    }
}

static void gate_open(void *arg)
{
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
}

/* Its callback waits at a gate, which another thread opens only while the
 * cancel waits. */
static void cancel_waits_for_a_callback(void)
{
    struct shot shot = {.timer = NULL};
    ABT_thread opener = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    CHECK(ABT_eventual_create(0, &shot.gate) == ABT_SUCCESS);
    CHECK(ABT_eventual_create(0, &shot.over) == ABT_SUCCESS);
    CHECK(margo_timer_create(pair.mid, shot_fire, &shot, &shot.timer) == 0);
    shot_start(&shot, 0);
    fired_wait(&shot, 1);
    CHECK(ABT_thread_create(pool, gate_open, &shot.gate, ABT_THREAD_ATTR_NULL,
              &opener) == ABT_SUCCESS);
    CHECK(margo_timer_cancel(shot.timer) == 0);
    ABT_bool is_over = ABT_FALSE;
    CHECK(ABT_eventual_test(shot.over, NULL, &is_over) == ABT_SUCCESS);
    CHECK(is_over);
    CHECK(ABT_thread_free(&opener) == ABT_SUCCESS);
    CHECK(margo_timer_destroy(shot.timer) == 0);
    CHECK(ABT_eventual_free(&shot.gate) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&shot.over) == ABT_SUCCESS);
}

/* A timer that restarts itself, and in the end cancels and destroys itself. */
struct chain {
    margo_timer_t timer;
    int left;
    ABT_eventual over;
};

static void chain_fire(void *arg)
{
    struct chain *chain = arg;

    if (--chain->left > 0) {
        CHECK(margo_timer_start(chain->timer, 0.1) == 0);
        return;
    }
    CHECK(margo_timer_cancel(chain->timer) == 0);
    CHECK(margo_timer_destroy(chain->timer) == 0);
    CHECK(ABT_eventual_set(chain->over, NULL, 0) == ABT_SUCCESS);
}

static void chains_itself(ABT_pool pool)
{
    struct chain chain = {.left = 10};

    CHECK(ABT_eventual_create(0, &chain.over) == ABT_SUCCESS);
    CHECK(margo_timer_create_with_pool(
              pair.mid, chain_fire, &chain, pool, &chain.timer) == 0);
    CHECK(margo_timer_start(chain.timer, 0) == 0);
    CHECK(ABT_eventual_wait(chain.over, NULL) == ABT_SUCCESS);
    CHECK(chain.left == 0);
    CHECK(ABT_eventual_free(&chain.over) == ABT_SUCCESS);
}

/* Destroyed right after its start, it still fires. */
static void fires_after_its_destruction(void)
{
    static struct shot shot; /* read after the count */

    CHECK(margo_timer_create(pair.mid, shot_fire, &shot, &shot.timer) == 0);
    shot_start(&shot, 1);
    CHECK(margo_timer_destroy(shot.timer) == 0);
    fired_wait(&shot, 1);
}

static void sleep_check(void *arg)
{
    double before = ABT_get_wtime();

    (void)arg;
    margo_thread_sleep(pair.mid, SHORT_MS);
    CHECK(ABT_get_wtime() - before >= SHORT_MS / 1000.0);
    margo_thread_sleep(pair.mid, 0);
    margo_thread_sleep(pair.mid, -1);
}

static void *sleep_plain(void *arg)
{
    sleep_check(NULL);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
    return NULL;
}

static void sleeps(void)
{
    enum { SLEEPERS = 20 };
    ABT_thread threads[SLEEPERS];
    ABT_pool pool = ABT_POOL_NULL;
    ABT_eventual over = ABT_EVENTUAL_NULL;
    pthread_t plain;

    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK(ABT_thread_create(pool, sleep_check, NULL, ABT_THREAD_ATTR_NULL,
                  &threads[i]) == ABT_SUCCESS);
    sleep_check(NULL);
    for (int i = 0; i < SLEEPERS; i++)
        CHECK(ABT_thread_free(&threads[i]) == ABT_SUCCESS);
    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    CHECK(pthread_create(&plain, NULL, sleep_plain, &over) == 0);
    CHECK(ABT_eventual_wait(over, NULL) == ABT_SUCCESS);
    CHECK(pthread_join(plain, NULL) == 0);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
}

static void odd_arguments(void)
{
    margo_timer_t timer = MARGO_TIMER_NULL;

    CHECK(margo_timer_create(NULL, shot_fire, NULL, &timer) == -1);
    CHECK(margo_timer_create(pair.mid, NULL, NULL, &timer) == -1);
    CHECK(margo_timer_create(pair.mid, shot_fire, NULL, NULL) == -1);
    CHECK(timer == MARGO_TIMER_NULL);
    CHECK(margo_timer_start(MARGO_TIMER_NULL, 1) == -1);
    CHECK(margo_timer_cancel(MARGO_TIMER_NULL) == -1);
    CHECK(margo_timer_cancel_many(1, NULL) == -1);
    CHECK(margo_timer_cancel_many(0, NULL) == 0);
    CHECK(margo_timer_destroy(MARGO_TIMER_NULL) == -1);
    CHECK(margo_timer_create(pair.mid, shot_fire, NULL, &timer) == 0);
    CHECK(margo_timer_start(timer, -1) == -1);
    CHECK(margo_timer_start(timer, NAN) == -1);
    CHECK(margo_timer_start(timer, INFINITY) == 0); /* practically never */
    CHECK(margo_timer_cancel(timer) == 0);
    CHECK(margo_timer_destroy(timer) == 0);
}

static void enrol(void)
{
}

static void test(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    fires_once_per_start(pool);
    fires_once_per_start(ABT_POOL_NULL);
    many();
    cancel_waits_for_a_callback();
    chains_itself(pool);
    chains_itself(ABT_POOL_NULL);
    fires_after_its_destruction();
    sleeps();
    odd_arguments();
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
