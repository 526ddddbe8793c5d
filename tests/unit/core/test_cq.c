/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: entries leave it once and in order, from any thread; a push
 * or a wake ends a sleep, also if it came before the sleep. */
#include "core/cq.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"

enum { ENTRIES = 1000, THREADS = 4, FOREVER_MS = 60000 };

static struct amg_cq cq;

static int cq_setup(void **state)
{
    (void)state;
    amg_cq_init(&cq);
    return 0;
}

static int cq_teardown(void **state)
{
    (void)state;
    amg_cq_fini(&cq);
    return 0;
}

static void test_cq_pops_in_order(void **state)
{
    static struct amg_cq_entry entries[ENTRIES];

    (void)state;
    assert_true(amg_cq_is_empty(&cq));
    assert_null(amg_cq_pop(&cq));
    for (unsigned i = 0; i < ENTRIES; i++)
        amg_cq_push(&cq, &entries[i]);
    assert_false(amg_cq_is_empty(&cq));
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_ptr_equal(amg_cq_pop(&cq), &entries[i]);
    assert_true(amg_cq_is_empty(&cq));
    assert_null(amg_cq_pop(&cq));
}

static void test_cq_sleep_returns_when_time_is_over(void **state)
{
    uint64_t until_ns = amg_clock_deadline_ns(3);

    (void)state;
    amg_cq_sleep(&cq, amg_cq_epoch(&cq), until_ns);
    assert_true(amg_clock_ns() >= until_ns);
}

static void test_cq_wake_before_sleep_is_not_lost(void **state)
{
    unsigned epoch = amg_cq_epoch(&cq);
    uint64_t until_ns = amg_clock_deadline_ns(FOREVER_MS);

    (void)state;
    amg_cq_wake(&cq);
    amg_cq_sleep(&cq, epoch, until_ns);
    assert_true(amg_clock_ns() < until_ns);
}

static void *wake_run(void *arg)
{
    (void)arg;
    amg_cq_wake(&cq);
    return NULL;
}

static void test_cq_wake_ends_sleep(void **state)
{
    uint64_t until_ns = amg_clock_deadline_ns(FOREVER_MS);
    unsigned epoch = amg_cq_epoch(&cq);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, wake_run, NULL), 0);
    amg_cq_sleep(&cq, epoch, until_ns);
    assert_true(amg_clock_ns() < until_ns);
    pthread_join(thread, NULL);
}

/* The entries of a thread; each must be popped once. */
struct lot {
    struct amg_cq_entry entries[ENTRIES];
};

static void *push_run(void *arg)
{
    struct lot *lot = arg;

    for (unsigned i = 0; i < ENTRIES; i++)
        amg_cq_push(&cq, &lot->entries[i]);
    return NULL;
}

static void test_cq_pushes_of_threads_all_wake(void **state)
{
    static struct lot lots[THREADS];
    unsigned next[THREADS] = {0};
    unsigned count = 0;
    pthread_t threads[THREADS];
    uint64_t until_ns = amg_clock_deadline_ns(FOREVER_MS);

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, push_run, &lots[i]), 0);
    while (count < THREADS * ENTRIES) {
        struct amg_cq_entry *entry = NULL;

        amg_cq_sleep(&cq, amg_cq_epoch(&cq), until_ns);
        assert_true(amg_clock_ns() < until_ns);
        while ((entry = amg_cq_pop(&cq)) != NULL) {
            unsigned i = 0;

            while (
                entry < lots[i].entries || entry >= lots[i].entries + ENTRIES)
                i++;
            assert_ptr_equal(entry, &lots[i].entries[next[i]]);
            next[i]++;
            count++;
        }
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(amg_cq_is_empty(&cq));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cq_pops_in_order),
        cmocka_unit_test(test_cq_sleep_returns_when_time_is_over),
        cmocka_unit_test(test_cq_wake_before_sleep_is_not_lost),
        cmocka_unit_test(test_cq_wake_ends_sleep),
        cmocka_unit_test(test_cq_pushes_of_threads_all_wake),
    };

    return cmocka_run_group_tests(tests, cq_setup, cq_teardown);
}
