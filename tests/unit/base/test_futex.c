/* SPDX-License-Identifier: BSD-3-Clause */
/* A futex wait ends when woken or at its deadline, and returns at once if the
 * word has another value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/lock.h"

static void test_futex_other_word_returns(void **state)
{
    atomic_uint word;

    (void)state;
    atomic_init(&word, 1);
    amg_futex_wait(&word, 0);
    assert_true(amg_futex_wait_until(&word, 0, AMG_NO_DEADLINE));
}

static void test_futex_moment_ends(void **state)
{
    const uint64_t moment = amg_clock_ns() + AMG_NS_PER_MS;
    atomic_uint word;

    (void)state;
    atomic_init(&word, 0);
    while (amg_futex_wait_until(&word, 0, moment)) {
    }
    assert_true(amg_clock_ns() >= moment);
    assert_false(amg_futex_wait_until(&word, 0, 0));
}

static void *sleep_on(void *arg)
{
    atomic_uint *word = arg;

    while (atomic_load_explicit(word, memory_order_acquire) == 0)
        amg_futex_wait(word, 0);
    return arg;
}

static void test_futex_wake_ends_sleep(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    atomic_uint word;

    (void)state;
    atomic_init(&word, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_on, &word), 0);
    atomic_store_explicit(&word, 1, memory_order_release);
    amg_futex_wake(&word, UINT32_MAX);
    for (int i = 0; i < THREADS; i++) {
        void *back = NULL;

        assert_int_equal(pthread_join(threads[i], &back), 0);
        assert_ptr_equal(back, &word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_futex_other_word_returns),
        cmocka_unit_test(test_futex_moment_ends),
        cmocka_unit_test(test_futex_wake_ends_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
