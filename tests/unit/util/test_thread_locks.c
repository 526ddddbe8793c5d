/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kind of lock excludes others, fails a try while it is held, and reports
 * misuse; a condition wakes its waiters, and ends a timed wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "mercury_thread.h"
#include "mercury_thread_condition.h"
#include "mercury_thread_mutex.h"
#include "mercury_thread_rwlock.h"
#include "mercury_thread_spin.h"
#include "mercury_time.h"

enum { THREADS = 3, ROUNDS = 5000 };

static hg_thread_mutex_t lock_mutex = HG_THREAD_MUTEX_INITIALIZER;
static hg_thread_cond_t lock_cond = HG_THREAD_COND_INITIALIZER;
static hg_thread_spin_t lock_spin;
static hg_thread_rwlock_t lock_rw;
/* Not atomic: each is guarded by one lock. */
static int lock_counts[3];
static int lock_turn;

/* Runs `body` in several threads, and joins them in turn. */
static void threads_run(hg_thread_func_t body)
{
    hg_thread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            hg_thread_create(&threads[i], body, (void *)i), HG_UTIL_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(hg_thread_join(threads[i]), HG_UTIL_SUCCESS);
}

static hg_thread_ret_t counts_add(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        hg_thread_mutex_lock(&lock_mutex);
        lock_counts[0]++;
        hg_thread_mutex_unlock(&lock_mutex);
        if (hg_thread_spin_try_lock(&lock_spin) != HG_UTIL_SUCCESS)
            hg_thread_spin_lock(&lock_spin);
        lock_counts[1]++;
        hg_thread_spin_unlock(&lock_spin);
        hg_thread_rwlock_wrlock(&lock_rw);
        lock_counts[2]++;
        hg_thread_rwlock_release_wrlock(&lock_rw);
        hg_thread_rwlock_rdlock(&lock_rw);
        (void)*(volatile int *)&lock_counts[2];
        hg_thread_rwlock_release_rdlock(&lock_rw);
    }
    return NULL;
}

static void test_locks_exclude_threads(void **state)
{
    (void)state;
    assert_int_equal(hg_thread_spin_init(&lock_spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_init(&lock_rw), HG_UTIL_SUCCESS);
    threads_run(counts_add);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lock_counts[i], THREADS * ROUNDS);
    assert_int_equal(hg_thread_rwlock_destroy(&lock_rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_destroy(&lock_spin), HG_UTIL_SUCCESS);
}

static void test_locks_mutex_answers_misuse(void **state)
{
    hg_thread_mutex_t mutex;

    (void)state;
    assert_int_equal(hg_thread_mutex_init(&mutex), HG_UTIL_SUCCESS);
#ifndef __SANITIZE_THREAD__ /* which reports it, and fails the test */
    assert_int_equal(hg_thread_mutex_unlock(&mutex), HG_UTIL_FAIL);
#endif
    assert_int_equal(hg_thread_mutex_lock(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_lock(&mutex), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_mutex_try_lock(&mutex), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_mutex_unlock(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_destroy(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_init_fast(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_try_lock(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_try_lock(&mutex), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_mutex_unlock(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_destroy(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_init(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_mutex_destroy(NULL), HG_UTIL_FAIL);
}

static void test_locks_spin_says_that_it_is_held(void **state)
{
    hg_thread_spin_t spin;

    (void)state;
    assert_int_equal(hg_thread_spin_init(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_lock(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_try_lock(&spin), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_spin_unlock(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_try_lock(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_unlock(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_destroy(&spin), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_spin_init(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_spin_destroy(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_spin_lock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_spin_try_lock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_spin_unlock(NULL), HG_UTIL_FAIL);
}

static void test_locks_rwlock_has_concurrent_readers(void **state)
{
    hg_thread_rwlock_t rw;

    (void)state;
    assert_int_equal(hg_thread_rwlock_init(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_rdlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_try_rdlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_try_wrlock(&rw), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_release_rdlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_release_rdlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_try_wrlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_try_rdlock(&rw), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_release_wrlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_wrlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_release_wrlock(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_destroy(&rw), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_rwlock_init(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_rdlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_try_rdlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_release_rdlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_wrlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_try_wrlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_release_wrlock(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_rwlock_destroy(NULL), HG_UTIL_FAIL);
}

/* Each thread waits for its turn, and wakes the next. */
static hg_thread_ret_t turn_pass(void *arg)
{
    int mine = (int)(uintptr_t)arg;

    hg_thread_mutex_lock(&lock_mutex);
    while (lock_turn != THREADS - 1 - mine)
        hg_thread_cond_wait(&lock_cond, &lock_mutex);
    lock_turn++;
    hg_thread_cond_broadcast(&lock_cond);
    hg_thread_mutex_unlock(&lock_mutex);
    return NULL;
}

static void test_locks_condition_wakes_a_waiter(void **state)
{
    (void)state;
    lock_turn = 0;
    threads_run(turn_pass);
    assert_int_equal(lock_turn, THREADS);
}

static void test_locks_condition_ends_a_wait_in_time(void **state)
{
    hg_thread_mutex_t mutex;
    hg_thread_cond_t cond;
    hg_time_t before, now;

    (void)state;
    assert_int_equal(hg_thread_mutex_init(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_cond_init(&cond), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_cond_signal(&cond), HG_UTIL_SUCCESS);
    hg_thread_mutex_lock(&mutex);
    hg_time_get_current(&before);
    /* A spurious wake-up is a success; wait again after it. */
    while (hg_thread_cond_timedwait(&cond, &mutex, 5) == HG_UTIL_SUCCESS)
        hg_time_get_current(&before);
    hg_time_get_current(&now);
    assert_true(hg_time_diff(now, before) >= 0.005);
    assert_int_equal(hg_thread_cond_timedwait(&cond, &mutex, 0), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_mutex_unlock(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_cond_destroy(&cond), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_mutex_destroy(&mutex), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_cond_init(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_cond_destroy(NULL), HG_UTIL_FAIL);
    assert_int_equal(
        hg_thread_cond_timedwait(NULL, &lock_mutex, 1), HG_UTIL_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locks_exclude_threads),
        cmocka_unit_test(test_locks_mutex_answers_misuse),
        cmocka_unit_test(test_locks_spin_says_that_it_is_held),
        cmocka_unit_test(test_locks_rwlock_has_concurrent_readers),
        cmocka_unit_test(test_locks_condition_wakes_a_waiter),
        cmocka_unit_test(test_locks_condition_ends_a_wait_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
