/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers share the lock, writers exclude all, and the last one to leave lets
 * waiters in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "abt.h"

enum { THREADS = 4, ROUNDS = 5000 };

struct shared {
    ABT_rwlock lock;
    uint64_t count; /* plain on purpose: only the lock guards it */
    atomic_int writers;
    atomic_int readers;
    atomic_int let_in; /* of threads that came while it was held */
};

static void test_rwlock_bad_arguments_change_nothing(void **state)
{
    ABT_rwlock_memory memory = ABT_RWLOCK_INITIALIZER;
    ABT_rwlock lock = ABT_RWLOCK_MEMORY_GET_HANDLE(&memory);
    ABT_rwlock none = ABT_RWLOCK_NULL;

    (void)state;
    assert_int_equal(ABT_rwlock_create(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_rwlock_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_rwlock_free(&none), ABT_ERR_INV_RWLOCK);
    assert_int_equal(ABT_rwlock_rdlock(none), ABT_ERR_INV_RWLOCK);
    assert_int_equal(ABT_rwlock_wrlock(none), ABT_ERR_INV_RWLOCK);
    assert_int_equal(ABT_rwlock_unlock(none), ABT_ERR_INV_RWLOCK);
    assert_int_equal(ABT_rwlock_unlock(lock), ABT_ERR_RWLOCK);
    assert_int_equal(ABT_rwlock_wrlock(lock), ABT_SUCCESS);
    assert_int_equal(ABT_rwlock_unlock(lock), ABT_SUCCESS);
    assert_int_equal(ABT_rwlock_unlock(lock), ABT_ERR_RWLOCK);
}

static void *write_once(void *arg)
{
    struct shared *shared = arg;
    int rc = ABT_rwlock_wrlock(shared->lock);

    atomic_fetch_add(&shared->let_in, 1);
    return rc == ABT_SUCCESS && ABT_rwlock_unlock(shared->lock) == ABT_SUCCESS
               ? arg
               : NULL;
}

static void *read_once(void *arg)
{
    struct shared *shared = arg;
    int rc = ABT_rwlock_rdlock(shared->lock);

    atomic_fetch_add(&shared->let_in, 1);
    return rc == ABT_SUCCESS && ABT_rwlock_unlock(shared->lock) == ABT_SUCCESS
               ? arg
               : NULL;
}

static void test_rwlock_reader_within_reading(void **state)
{
    struct shared shared = {.count = 0};
    pthread_t thread;
    void *back = NULL;

    (void)state;
    assert_int_equal(ABT_rwlock_create(&shared.lock), ABT_SUCCESS);
    assert_int_equal(ABT_rwlock_rdlock(shared.lock), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, write_once, &shared), 0);
    /* The reader is let in whether the writer waits yet or not. */
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(ABT_rwlock_rdlock(shared.lock), ABT_SUCCESS);
        assert_int_equal(atomic_load(&shared.let_in), 0);
        assert_int_equal(ABT_rwlock_unlock(shared.lock), ABT_SUCCESS);
        sched_yield();
    }
    assert_int_equal(ABT_rwlock_unlock(shared.lock), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, &back), 0);
    assert_ptr_equal(back, &shared);
    assert_int_equal(atomic_load(&shared.let_in), 1);
    assert_int_equal(ABT_rwlock_free(&shared.lock), ABT_SUCCESS);
    assert_null(shared.lock);
}

static void test_rwlock_writer_excludes_all(void **state)
{
    struct shared shared = {.count = 0};
    pthread_t threads[2];

    (void)state;
    assert_int_equal(ABT_rwlock_create(&shared.lock), ABT_SUCCESS);
    assert_int_equal(ABT_rwlock_wrlock(shared.lock), ABT_SUCCESS);
    assert_int_equal(pthread_create(&threads[0], NULL, read_once, &shared), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, write_once, &shared), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(atomic_load(&shared.let_in), 0);
        sched_yield();
    }
    assert_int_equal(ABT_rwlock_unlock(shared.lock), ABT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        void *back = NULL;

        assert_int_equal(pthread_join(threads[i], &back), 0);
        assert_ptr_equal(back, &shared);
    }
    assert_int_equal(ABT_rwlock_free(&shared.lock), ABT_SUCCESS);
}

static void *mix(void *arg)
{
    struct shared *shared = arg;
    uintptr_t failures = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t seen = 0;

        if (i % 4 == 0) {
            failures += ABT_rwlock_wrlock(shared->lock) != ABT_SUCCESS;
            failures += atomic_fetch_add(&shared->writers, 1) != 0;
            failures += atomic_load(&shared->readers) != 0;
            shared->count++;
            atomic_fetch_sub(&shared->writers, 1);
        } else {
            failures += ABT_rwlock_rdlock(shared->lock) != ABT_SUCCESS;
            atomic_fetch_add(&shared->readers, 1);
            failures += atomic_load(&shared->writers) != 0;
            seen = shared->count;
            failures += seen > (uint64_t)THREADS * ROUNDS;
            atomic_fetch_sub(&shared->readers, 1);
        }
        failures += ABT_rwlock_unlock(shared->lock) != ABT_SUCCESS;
    }
    return (void *)failures;
}

static void test_rwlock_threads_exclude(void **state)
{
    struct shared shared = {.count = 0};
    pthread_t threads[THREADS];

    (void)state;
    assert_int_equal(ABT_rwlock_create(&shared.lock), ABT_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mix, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;

        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    assert_int_equal(shared.count, (uint64_t)THREADS * ROUNDS / 4);
    assert_int_equal(ABT_rwlock_free(&shared.lock), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rwlock_bad_arguments_change_nothing),
        cmocka_unit_test(test_rwlock_reader_within_reading),
        cmocka_unit_test(test_rwlock_writer_excludes_all),
        cmocka_unit_test(test_rwlock_threads_exclude),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
