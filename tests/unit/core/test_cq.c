/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queue: entries leave it once and in order, from any thread, and
 * their pushes wake a thread that waits for them. */
#include "core/cq.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "core/wakeup.h"

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
    struct amg_cq_waiter waiter;
    uint64_t until_ns = amg_clock_deadline_ns(FOREVER_MS);

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, push_run, &lots[i]), 0);
    while (count < THREADS * ENTRIES) {
        struct amg_cq_entry *entry = NULL;

        amg_cq_enter(&cq, AMG_WAITS_FOR_ENTRY, &waiter);
        amg_cq_waiter_clear(&waiter);
        if (amg_cq_is_empty(&cq))
            assert_true(amg_wakeup_sleep(&waiter, until_ns));
        amg_cq_leave(&cq, AMG_WAITS_FOR_ENTRY, &waiter);
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
        cmocka_unit_test(test_cq_pushes_of_threads_all_wake),
    };

    return cmocka_run_group_tests(tests, cq_setup, cq_teardown);
}
