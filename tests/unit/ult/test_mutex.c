/* SPDX-License-Identifier: BSD-3-Clause */
/* A mutex goes through its states, excludes other threads, and is handed over
 * so that no waiter is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/log.h"
#include "log_kept.h"
#include "ult/park.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
    ABT_mutex_memory memory;
    uint64_t count; /* plain on purpose: only the mutex guards it */
    atomic_uint waiting;
    atomic_bool is_given;
};

static struct ABT_mutex_opaque *mutex_in(struct shared *shared)
{
    return (struct ABT_mutex_opaque *)(void *)&shared->memory;
}

static ABT_mutex handle_of(struct shared *shared)
{
    return ABT_MUTEX_MEMORY_GET_HANDLE(&shared->memory);
}

static unsigned word_of(struct shared *shared)
{
    return atomic_load(&mutex_in(shared)->word);
}

static void test_mutex_alone_is_one_word(void **state)
{
    struct shared shared = {.memory = ABT_MUTEX_INITIALIZER};
    ABT_mutex mutex = handle_of(&shared);

    (void)state;
    assert_int_equal(word_of(&shared), AMG_MUTEX_FREE);
    assert_int_equal(ABT_mutex_lock(mutex), ABT_SUCCESS);
    assert_int_equal(word_of(&shared), AMG_MUTEX_HELD);
    assert_int_equal(ABT_mutex_trylock(mutex), ABT_ERR_MUTEX_LOCKED);
    assert_int_equal(ABT_mutex_unlock(mutex), ABT_SUCCESS);
    assert_int_equal(word_of(&shared), AMG_MUTEX_FREE);
    assert_int_equal(ABT_mutex_unlock(mutex), ABT_ERR_MUTEX);
    assert_int_equal(word_of(&shared), AMG_MUTEX_FREE);
}

static void *lock_once(void *arg)
{
    struct shared *shared = arg;

    atomic_fetch_add(&shared->waiting, 1);
    if (ABT_mutex_lock(handle_of(shared)) != ABT_SUCCESS)
        return NULL;
    shared->count++;
    return ABT_mutex_unlock(handle_of(shared)) == ABT_SUCCESS ? arg : NULL;
}

/* Waits until a thread has queued, which the started one does. */
static void wait_until_wanted(struct shared *shared)
{
    while (word_of(shared) != AMG_MUTEX_WANTED)
        sched_yield();
}

static void test_mutex_wanted_is_passed(void **state)
{
    struct shared shared = {.memory = ABT_MUTEX_INITIALIZER};
    pthread_t thread;
    void *back = NULL;

    (void)state;
    assert_int_equal(ABT_mutex_lock(handle_of(&shared)), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, lock_once, &shared), 0);
    wait_until_wanted(&shared);
    assert_int_equal(ABT_mutex_unlock(handle_of(&shared)), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, &back), 0);
    assert_ptr_equal(back, &shared);
    assert_int_equal(shared.count, 1);
    assert_int_equal(word_of(&shared), AMG_MUTEX_FREE);
    assert_true(amg_waiters_is_empty(&mutex_in(&shared)->waiters));
}

/* The holder relocks it at once, again and again: a waiter still gets it. */
static void test_mutex_relocked_is_handed_over(void **state)
{
    struct shared shared = {.memory = ABT_MUTEX_INITIALIZER};
    pthread_t thread;
    void *back = NULL;
    uint64_t seen = 0;

    (void)state;
    assert_int_equal(ABT_mutex_lock(handle_of(&shared)), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, lock_once, &shared), 0);
    wait_until_wanted(&shared);
    while (seen == 0) {
        assert_int_equal(ABT_mutex_unlock(handle_of(&shared)), ABT_SUCCESS);
        assert_int_equal(ABT_mutex_lock(handle_of(&shared)), ABT_SUCCESS);
        seen = shared.count;
    }
    assert_int_equal(ABT_mutex_unlock(handle_of(&shared)), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, &back), 0);
    assert_ptr_equal(back, &shared);
}

static void test_mutex_with_waiters_is_not_freed(void **state)
{
    struct shared shared = {.memory = ABT_MUTEX_INITIALIZER};
    ABT_mutex mutex = handle_of(&shared);
    pthread_t thread;

    (void)state;
    assert_int_equal(ABT_mutex_lock(mutex), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, lock_once, &shared), 0);
    wait_until_wanted(&shared);
    assert_int_equal(ABT_mutex_free(&mutex), ABT_ERR_MUTEX);
    assert_ptr_equal(mutex, handle_of(&shared));
    assert_int_equal(ABT_mutex_unlock(mutex), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *count_up(void *arg)
{
    struct shared *shared = arg;
    ABT_mutex mutex = handle_of(shared);
    uintptr_t failures = 0;

    for (int i = 0; i < ROUNDS; i++) {
        int rc = ABT_SUCCESS;

        if (i % 3 == 0)
            rc = ABT_mutex_spinlock(mutex);
        else if (i % 3 == 1 || ABT_mutex_trylock(mutex) != ABT_SUCCESS)
            rc = ABT_mutex_lock(mutex);
        shared->count++;
        failures += rc != ABT_SUCCESS;
        failures += ABT_mutex_unlock(mutex) != ABT_SUCCESS;
    }
    return (void *)failures;
}

static void count_with(struct shared *shared)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_up, shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;

        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    assert_int_equal(shared->count, (uint64_t)THREADS * ROUNDS);
    assert_true(amg_waiters_is_empty(&mutex_in(shared)->waiters));
}

static void test_mutex_threads_exclude(void **state)
{
    struct shared shared = {.memory = ABT_MUTEX_INITIALIZER};

    (void)state;
    count_with(&shared);
}

static void test_mutex_recursive_threads_exclude(void **state)
{
    struct shared shared = {.memory = ABT_RECURSIVE_MUTEX_INITIALIZER};

    (void)state;
    count_with(&shared);
}

static void *unlock_others(void *arg)
{
    struct shared *shared = arg;

    return (void *)(uintptr_t)ABT_mutex_unlock(handle_of(shared));
}

static void test_mutex_recursive_counts(void **state)
{
    struct shared shared = {.memory = ABT_RECURSIVE_MUTEX_INITIALIZER};
    ABT_mutex mutex = handle_of(&shared);
    pthread_t thread;
    void *rc = NULL;

    (void)state;
    assert_int_equal(ABT_mutex_unlock(mutex), ABT_ERR_INV_THREAD);
    assert_int_equal(ABT_mutex_lock(mutex), ABT_SUCCESS);
    assert_int_equal(ABT_mutex_trylock(mutex), ABT_SUCCESS);
    assert_int_equal(ABT_mutex_spinlock(mutex), ABT_SUCCESS);
    assert_int_equal(mutex_in(&shared)->depth, 2);
    assert_int_equal(pthread_create(&thread, NULL, unlock_others, &shared), 0);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((uintptr_t)rc, ABT_ERR_INV_THREAD);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ABT_mutex_unlock(mutex), ABT_SUCCESS);
    assert_int_equal(word_of(&shared), AMG_MUTEX_FREE);
    assert_int_equal(ABT_mutex_unlock(mutex), ABT_ERR_INV_THREAD);
}

static void test_mutex_misuse_names_the_call(void **state)
{
    static const struct {
        int (*lock)(ABT_mutex mutex);
        const char *name;
    } rows[] = {
        {ABT_mutex_lock, "ABT_mutex_lock()"},
        {ABT_mutex_lock_low, "ABT_mutex_lock_low()"},
        {ABT_mutex_lock_high, "ABT_mutex_lock_high()"},
        {ABT_mutex_spinlock, "ABT_mutex_spinlock()"},
    };

    (void)state;
    hg_log_set_func(log_keep);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        log_clear();
        assert_int_equal(rows[i].lock(ABT_MUTEX_NULL), ABT_ERR_INV_MUTEX);
        assert_true(log_has(rows[i].name));
    }
    hg_log_set_func(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutex_alone_is_one_word),
        cmocka_unit_test(test_mutex_wanted_is_passed),
        cmocka_unit_test(test_mutex_relocked_is_handed_over),
        cmocka_unit_test(test_mutex_with_waiters_is_not_freed),
        cmocka_unit_test(test_mutex_threads_exclude),
        cmocka_unit_test(test_mutex_recursive_threads_exclude),
        cmocka_unit_test(test_mutex_recursive_counts),
        cmocka_unit_test(test_mutex_misuse_names_the_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
