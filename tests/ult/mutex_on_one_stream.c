/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of one stream contend for a mutex whose holder yields: all of them
 * get it, also by ABT_mutex_spinlock(), and a thread that locks it again and
 * again does not starve others. */
#include "ult.h"

enum { THREADS = 20, ROUNDS = 200 };

static ABT_mutex mutex;
static int inside;
static int total;
static int greedy_rounds;
static bool is_modest_done;

static int lock_somehow(int how)
{
    switch (how % 4) {
    case 0:
        return ABT_mutex_lock_low(mutex);
    case 1:
        return ABT_mutex_lock_high(mutex);
    case 2:
        return ABT_mutex_spinlock(mutex);
    default:
        return ABT_mutex_lock(mutex);
    }
}

static int unlock_somehow(int how)
{
    switch (how % 3) {
    case 0:
        return ABT_mutex_unlock_se(mutex);
    case 1:
        return ABT_mutex_unlock_de(mutex);
    default:
        return ABT_mutex_unlock(mutex);
    }
}

static void work(void *arg)
{
    const int self = (int)(intptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        OK(lock_somehow(self + i));
        CHECK(inside == 0);
        inside = 1;
        GIVES(ABT_ERR_MUTEX_LOCKED, ABT_mutex_trylock(mutex));
        OK(ABT_thread_yield());
        total++;
        inside = 0;
        OK(unlock_somehow(self + i));
    }
}

static void be_greedy(void *arg)
{
    (void)arg;
    while (!is_modest_done) {
        OK(ABT_mutex_lock(mutex));
        greedy_rounds++;
        OK(ABT_thread_yield());
        OK(ABT_mutex_unlock(mutex));
    }
}

static void be_modest(void *arg)
{
    (void)arg;
    OK(ABT_mutex_lock(mutex));
    is_modest_done = true;
    OK(ABT_mutex_unlock(mutex));
}

static void recursive(void)
{
    ABT_mutex_attr attr = ABT_MUTEX_ATTR_NULL;
    ABT_mutex_attr got = ABT_MUTEX_ATTR_NULL;
    ABT_mutex again = ABT_MUTEX_NULL;
    ABT_bool flag = ABT_FALSE;

    OK(ABT_mutex_attr_create(&attr));
    OK(ABT_mutex_attr_get_recursive(attr, &flag));
    CHECK(flag == ABT_FALSE);
    OK(ABT_mutex_attr_set_recursive(attr, ABT_TRUE));
    OK(ABT_mutex_create_with_attr(attr, &again));
    OK(ABT_mutex_attr_free(&attr));
    CHECK(attr == ABT_MUTEX_ATTR_NULL);
    OK(ABT_mutex_get_attr(again, &got));
    OK(ABT_mutex_attr_get_recursive(got, &flag));
    CHECK(flag == ABT_TRUE);
    OK(ABT_mutex_attr_free(&got));
    for (int i = 0; i < 5; i++)
        OK(ABT_mutex_lock(again));
    for (int i = 0; i < 5; i++)
        OK(ABT_mutex_unlock(again));
    GIVES(ABT_ERR_INV_THREAD, ABT_mutex_unlock(again));
    OK(ABT_mutex_equal(again, mutex, &flag));
    CHECK(flag == ABT_FALSE);
    OK(ABT_mutex_equal(again, again, &flag));
    CHECK(flag == ABT_TRUE);
    OK(ABT_mutex_free(&again));
    CHECK(again == ABT_MUTEX_NULL);
}

int main(void)
{
    ABT_thread threads[THREADS];
    ABT_thread greedy;
    ABT_thread modest;

    ult_begin(1);
    OK(ABT_mutex_create(&mutex));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = ult_start(0, work, (void *)i);
    OK(ABT_thread_free_many(THREADS, threads));
    CHECK(total == THREADS * ROUNDS);
    greedy = ult_start(0, be_greedy, NULL);
    modest = ult_start(0, be_modest, NULL);
    ult_join(&modest);
    ult_join(&greedy);
    CHECK(greedy_rounds > 0);
    recursive();
    OK(ABT_mutex_free(&mutex));
    ult_end();
    return 0;
}
