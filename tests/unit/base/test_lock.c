/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaf lock excludes other threads, and publishes what its holder wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/lock.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
    struct amg_lock lock;
    uint64_t count; /* plain on purpose: only the lock guards it */
    int inside;
};

static void test_lock_try_held_fails(void **state)
{
    struct amg_lock lock;

    (void)state;
    amg_lock_init(&lock);
    assert_true(amg_lock_trylock(&lock));
    assert_false(amg_lock_trylock(&lock));
    amg_lock_unlock(&lock);
    assert_true(amg_lock_trylock(&lock));
    amg_lock_unlock(&lock);
}

static void *count_up(void *arg)
{
    struct shared *shared = arg;
    uintptr_t collisions = 0;

    for (int i = 0; i < ROUNDS; i++) {
        amg_lock_lock(&shared->lock);
        collisions += shared->inside != 0;
        shared->inside = 1;
        shared->count++;
        shared->inside = 0;
        amg_lock_unlock(&shared->lock);
    }
    return (void *)collisions;
}

static void test_lock_take_threads_exclude(void **state)
{
    struct shared shared = {.count = 0};
    pthread_t threads[THREADS];

    (void)state;
    amg_lock_init(&shared.lock);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_up, &shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *collisions = NULL;

        assert_int_equal(pthread_join(threads[i], &collisions), 0);
        assert_null(collisions);
    }
    assert_int_equal(shared.count, (uint64_t)THREADS * ROUNDS);
}

static void *take_and_look(void *arg)
{
    struct shared *shared = arg;

    amg_lock_lock(&shared->lock);
    shared->count = atomic_load(&shared->lock.held);
    amg_lock_unlock(&shared->lock);
    return NULL;
}

/* Its holder sees the mark when it unlocks, and wakes the waiter. That cannot
 * know whether others wait, too, and keeps the mark. */
static void test_lock_wait_long_marks_lock(void **state)
{
    struct shared shared = {.count = 0};
    pthread_t thread;

    (void)state;
    amg_lock_init(&shared.lock);
    assert_true(amg_lock_trylock(&shared.lock));
    assert_int_equal(pthread_create(&thread, NULL, take_and_look, &shared), 0);
    while (atomic_load(&shared.lock.held) != AMG_LOCK_WANTED)
        sched_yield();
    assert_false(amg_lock_trylock(&shared.lock)); /* and keeps it */
    assert_int_equal(atomic_load(&shared.lock.held), AMG_LOCK_WANTED);
    amg_lock_unlock(&shared.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(shared.count, AMG_LOCK_WANTED);
    assert_int_equal(atomic_load(&shared.lock.held), AMG_LOCK_FREE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lock_try_held_fails),
        cmocka_unit_test(test_lock_take_threads_exclude),
        cmocka_unit_test(test_lock_wait_long_marks_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
