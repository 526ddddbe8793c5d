/* SPDX-License-Identifier: BSD-3-Clause */
/* No signal is lost between unlocking the mutex and the wait; a timed wait ends
 * at its deadline; freeing a condition waits until the threads that it woke
 * have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "abt.h"

enum { THREADS = 4, ROUNDS = 2000 };

static ABT_mutex_memory mutex_memory = ABT_MUTEX_INITIALIZER;
static ABT_mutex_memory other_memory = ABT_MUTEX_INITIALIZER;
static ABT_mutex_memory recursive_memory = ABT_RECURSIVE_MUTEX_INITIALIZER;

static ABT_mutex the_mutex(void)
{
    return ABT_MUTEX_MEMORY_GET_HANDLE(&mutex_memory);
}

/* `ms` from now; may be negative. */
static struct timespec moment(long ms)
{
    struct timespec when;
    int64_t ns = 0;

    clock_gettime(CLOCK_REALTIME, &when);
    ns = (int64_t)when.tv_sec * 1000000000 + when.tv_nsec + ms * 1000000;
    when.tv_sec = (time_t)(ns / 1000000000);
    when.tv_nsec = (long)(ns % 1000000000);
    return when;
}

static void test_cond_bad_arguments_change_nothing(void **state)
{
    ABT_cond_memory memory = ABT_COND_INITIALIZER;
    ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(&memory);
    ABT_cond none = ABT_COND_NULL;
    struct timespec never = {.tv_sec = 0, .tv_nsec = 1000000000};

    (void)state;
    assert_int_equal(ABT_cond_create(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_cond_free(&none), ABT_ERR_INV_COND);
    assert_int_equal(ABT_cond_signal(none), ABT_ERR_INV_COND);
    assert_int_equal(ABT_cond_broadcast(none), ABT_ERR_INV_COND);
    assert_int_equal(ABT_cond_wait(none, the_mutex()), ABT_ERR_INV_COND);
    assert_int_equal(ABT_cond_wait(cond, ABT_MUTEX_NULL), ABT_ERR_INV_MUTEX);
    /* A thread that has waited still holds the mutex. */
    assert_int_equal(ABT_cond_wait(cond, the_mutex()), ABT_ERR_MUTEX);
    assert_int_equal(ABT_mutex_lock(the_mutex()), ABT_SUCCESS);
    assert_int_equal(
        ABT_cond_timedwait(cond, the_mutex(), NULL), ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_cond_timedwait(cond, the_mutex(), &never), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_mutex_trylock(the_mutex()), ABT_ERR_MUTEX_LOCKED);
    assert_int_equal(ABT_mutex_unlock(the_mutex()), ABT_SUCCESS);
    /* Without waiters a signal is lost. */
    assert_int_equal(ABT_cond_signal(cond), ABT_SUCCESS);
    assert_int_equal(ABT_cond_broadcast(cond), ABT_SUCCESS);
}

static void test_cond_moment_ends_wait(void **state)
{
    ABT_cond_memory memory = ABT_COND_INITIALIZER;
    ABT_cond cond = ABT_COND_MEMORY_GET_HANDLE(&memory);
    const long ms[] = {-86400000, -1, 0, 2};

    (void)state;
    assert_int_equal(ABT_mutex_lock(the_mutex()), ABT_SUCCESS);
    for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
        struct timespec until = moment(ms[i]);
        struct timespec now;

        assert_int_equal(ABT_cond_timedwait(cond, the_mutex(), &until),
            ABT_ERR_COND_TIMEDOUT);
        now = moment(0);
        assert_true(
            now.tv_sec > until.tv_sec ||
            (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
        assert_int_equal(ABT_mutex_trylock(the_mutex()), ABT_ERR_MUTEX_LOCKED);
    }
    assert_int_equal(ABT_mutex_unlock(the_mutex()), ABT_SUCCESS);
}

/* Two players pass one ball; each waits for the other's signal, and one of them
 * with a deadline that is far away, or very near. */
struct table {
    ABT_cond cond;
    ABT_mutex mutex;
    int at;      /* whose turn it is */
    long ms;     /* timeout of player 1; 0: no deadline */
    int left[2]; /* turns */
};

static int table_wait(struct table *table, int who)
{
    struct timespec until = moment(table->ms);
    int rc = ABT_SUCCESS;

    if (who == 0 || table->ms == 0)
        return ABT_cond_wait(table->cond, table->mutex);
    rc = ABT_cond_timedwait(table->cond, table->mutex, &until);
    return rc == ABT_ERR_COND_TIMEDOUT ? ABT_SUCCESS : rc;
}

static uintptr_t play(struct table *table, int who)
{
    uintptr_t failures = 0;

    failures += ABT_mutex_lock(table->mutex) != ABT_SUCCESS;
    while (table->left[who]-- > 0) {
        while (table->at != who)
            failures += table_wait(table, who) != ABT_SUCCESS;
        table->at = 1 - who;
        failures += ABT_cond_signal(table->cond) != ABT_SUCCESS;
    }
    failures += ABT_mutex_unlock(table->mutex) != ABT_SUCCESS;
    return failures;
}

static void *play_1(void *arg)
{
    return (void *)play(arg, 1);
}

static void play_all(ABT_mutex mutex, long ms)
{
    struct table table = {.mutex = mutex, .ms = ms, .left = {ROUNDS, ROUNDS}};
    pthread_t thread;
    void *failures = NULL;

    assert_int_equal(ABT_cond_create(&table.cond), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, play_1, &table), 0);
    assert_int_equal(play(&table, 0), 0);
    assert_int_equal(pthread_join(thread, &failures), 0);
    assert_null(failures);
    assert_int_equal(ABT_cond_free(&table.cond), ABT_SUCCESS);
    assert_null(table.cond);
}

static void test_cond_signals_are_not_lost(void **state)
{
    (void)state;
    play_all(the_mutex(), 0);
    play_all(ABT_MUTEX_MEMORY_GET_HANDLE(&recursive_memory), 0);
}

static void test_cond_moments_race_signals(void **state)
{
    (void)state;
    play_all(the_mutex(), 100000);
    play_all(the_mutex(), -1);
}

/* The thread that woke the waiters frees the condition at once. */
struct crowd {
    ABT_cond cond;
    atomic_int inside;
    bool is_open;
};

static void *wait_in_crowd(void *arg)
{
    struct crowd *crowd = arg;
    struct timespec until = moment(1000000);
    uintptr_t failures = 0;

    failures += ABT_mutex_lock(the_mutex()) != ABT_SUCCESS;
    atomic_fetch_add(&crowd->inside, 1);
    while (!crowd->is_open)
        failures +=
            ABT_cond_timedwait(crowd->cond, the_mutex(), &until) != ABT_SUCCESS;
    failures += ABT_mutex_unlock(the_mutex()) != ABT_SUCCESS;
    return (void *)failures;
}

static void test_cond_freed_after_broadcast(void **state)
{
    struct crowd crowd = {.is_open = false};
    pthread_t threads[THREADS];
    ABT_cond kept = ABT_COND_NULL;

    (void)state;
    assert_int_equal(ABT_cond_create(&crowd.cond), ABT_SUCCESS);
    kept = crowd.cond;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, wait_in_crowd, &crowd), 0);
    while (atomic_load(&crowd.inside) < THREADS)
        sched_yield();
    /* All have unlocked the mutex, so all are in the queue. */
    assert_int_equal(ABT_mutex_lock(the_mutex()), ABT_SUCCESS);
    assert_int_equal(ABT_cond_free(&crowd.cond), ABT_ERR_COND);
    assert_ptr_equal(crowd.cond, kept);
    crowd.is_open = true;
    assert_int_equal(ABT_cond_broadcast(kept), ABT_SUCCESS);
    assert_int_equal(ABT_cond_free(&kept), ABT_SUCCESS);
    assert_int_equal(ABT_mutex_unlock(the_mutex()), ABT_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;

        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
}

static void test_cond_other_mutex_is_refused(void **state)
{
    ABT_mutex other = ABT_MUTEX_MEMORY_GET_HANDLE(&other_memory);
    struct crowd crowd = {.is_open = false};
    pthread_t thread;

    (void)state;
    assert_int_equal(ABT_cond_create(&crowd.cond), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_crowd, &crowd), 0);
    while (atomic_load(&crowd.inside) < 1)
        sched_yield();
    assert_int_equal(ABT_mutex_lock(the_mutex()), ABT_SUCCESS);
    assert_int_equal(ABT_mutex_lock(other), ABT_SUCCESS);
    assert_int_equal(ABT_cond_wait(crowd.cond, other), ABT_ERR_INV_MUTEX);
    assert_int_equal(ABT_mutex_unlock(other), ABT_SUCCESS);
    crowd.is_open = true;
    assert_int_equal(ABT_cond_signal(crowd.cond), ABT_SUCCESS);
    assert_int_equal(ABT_mutex_unlock(the_mutex()), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(ABT_cond_free(&crowd.cond), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cond_bad_arguments_change_nothing),
        cmocka_unit_test(test_cond_moment_ends_wait),
        cmocka_unit_test(test_cond_signals_are_not_lost),
        cmocka_unit_test(test_cond_moments_race_signals),
        cmocka_unit_test(test_cond_freed_after_broadcast),
        cmocka_unit_test(test_cond_other_mutex_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
