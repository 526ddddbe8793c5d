/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for a context: who is woken by what, in which order, and
 * that no wake is lost before a sleep. */
#include "core/cq.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/process.h"
#include "core/wakeup.h"

enum { WAITERS = 3, FOREVER_MS = 60000 };

static struct amg_cq cq;
static struct amg_cq_waiter waiters[WAITERS];

/* The waiters are in the list, in order. */
static int waiters_setup(void **state)
{
    (void)state;
    amg_cq_init(&cq);
    for (unsigned i = 0; i < WAITERS; i++)
        amg_cq_enter(&cq, AMG_WAITS_TO_OWN, &waiters[i]);
    return 0;
}

static int waiters_teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAITERS; i++)
        amg_cq_leave(&cq, AMG_WAITS_TO_OWN, &waiters[i]);
    while (amg_cq_pop(&cq) != NULL)
        continue;
    amg_cq_fini(&cq);
    return 0;
}

/* Bits of the waiters that were woken; clears their words. */
static unsigned woken(void)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < WAITERS; i++) {
        if (atomic_load(&waiters[i].word) == AMG_CQ_WAITER_WOKEN)
            bits |= 1u << i;
        amg_cq_waiter_clear(&waiters[i]);
    }
    return bits;
}

static void test_waiters_sleep_ends_when_time_is_over(void **state)
{
    uint64_t until_ns = amg_clock_deadline_ns(3);

    (void)state;
    assert_false(amg_wakeup_sleep(&waiters[0], until_ns));
    assert_true(amg_clock_ns() >= until_ns);
    assert_int_equal(amg_tally_sum(&cq.waiters.sleeps), 1);
}

static void test_waiters_wake_before_sleep_is_not_lost(void **state)
{
    (void)state;
    amg_cq_hand_over(&cq);
    assert_true(
        amg_wakeup_sleep(&waiters[0], amg_clock_deadline_ns(FOREVER_MS)));
    assert_int_equal(amg_tally_sum(&cq.waiters.sleeps), 0);
    assert_int_equal(amg_tally_sum(&cq.waiters.wakes), 0);
}

/* Wakes each time the waiter sleeps. */
static void *wake_run(void *arg)
{
    (void)arg;
    while (atomic_load(&waiters[0].word) != AMG_CQ_WAITER_SLEEPS)
        amg_relax();
    amg_cq_hand_over(&cq);
    return NULL;
}

static void test_waiters_wake_ends_sleep(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, wake_run, NULL), 0);
    assert_true(
        amg_wakeup_sleep(&waiters[0], amg_clock_deadline_ns(FOREVER_MS)));
    pthread_join(thread, NULL);
    assert_int_equal(amg_tally_sum(&cq.waiters.sleeps), 1);
    assert_int_equal(amg_tally_sum(&cq.waiters.wakes), 1);
}

static void test_waiters_role_goes_to_the_first(void **state)
{
    (void)state;
    amg_cq_hand_over(&cq);
    assert_int_equal(woken(), 1);
    amg_cq_leave(&cq, AMG_WAITS_TO_OWN, &waiters[0]);
    amg_cq_enter(&cq, AMG_WAITS_TO_OWN, &waiters[0]);
    amg_cq_hand_over(&cq);
    assert_int_equal(woken(), 2);
}

static void test_waiters_progress_thread_is_behind_all(void **state)
{
    int event_fd = amg_eventfd_open();

    (void)state;
    amg_cq_set_event_fd(&cq, AMG_CQ_THREAD, event_fd);
    assert_true(amg_cq_arm(&cq, AMG_CQ_THREAD, amg_cq_epoch(&cq)));
    amg_cq_hand_over(&cq);
    assert_int_equal(woken(), 1);
    assert_false(cq.waiters.is_signaled[AMG_CQ_THREAD]);
    for (unsigned i = 0; i < WAITERS; i++)
        amg_cq_leave(&cq, AMG_WAITS_TO_OWN, &waiters[i]);
    assert_true(amg_cq_has_heirs(&cq));
    amg_cq_hand_over(&cq);
    assert_true(cq.waiters.is_signaled[AMG_CQ_THREAD]);
    for (unsigned i = 0; i < WAITERS; i++)
        amg_cq_enter(&cq, AMG_WAITS_TO_OWN, &waiters[i]);
    amg_cq_disarm(&cq, AMG_CQ_THREAD);
    assert_false(amg_cq_is_armed(&cq, AMG_CQ_THREAD));
    amg_eventfd_close(event_fd);
}

static void test_waiters_arm_sees_wakes_since_epoch(void **state)
{
    unsigned epoch = amg_cq_epoch(&cq);
    int event_fd = amg_eventfd_open();

    (void)state;
    amg_cq_set_event_fd(&cq, AMG_CQ_OWNER, event_fd);
    amg_cq_wake(&cq);
    assert_false(amg_cq_arm(&cq, AMG_CQ_OWNER, epoch));
    assert_int_equal(woken(), 7);
    assert_true(amg_cq_arm(&cq, AMG_CQ_OWNER, amg_cq_epoch(&cq)));
    amg_cq_disarm(&cq, AMG_CQ_OWNER);
    amg_eventfd_close(event_fd);
}

static void test_waiters_entry_wakes_first_that_runs_it(void **state)
{
    static struct amg_cq_entry entry;
    struct amg_cq_waiter runner;

    (void)state;
    waiters[0].runs_all = false; /* a handler in the progress thread */
    amg_role.is_library_thread = false;
    amg_cq_enter(&cq, AMG_WAITS_FOR_ENTRY, &runner);
    amg_cq_push(&cq, &entry);
    assert_int_equal(woken(), 2);
    assert_int_equal(atomic_load(&runner.word), AMG_CQ_WAITER_WOKEN);
    amg_cq_leave(&cq, AMG_WAITS_FOR_ENTRY, &runner);
    amg_cq_wake_first(&cq, AMG_WAITS_FOR_ENTRY);
    assert_int_equal(woken(), 0);
}

static void test_waiters_ring_wakes_all_that_progress(void **state)
{
    struct amg_cq_waiter runner;

    (void)state;
    amg_cq_enter(&cq, AMG_WAITS_FOR_ENTRY, &runner);
    amg_cq_ring(&cq);
    assert_int_equal(woken(), 7);
    assert_int_equal(atomic_load(&runner.word), AMG_CQ_WAITER_LOOKS);
    amg_cq_leave(&cq, AMG_WAITS_FOR_ENTRY, &runner);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, waiters_setup, waiters_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_waiters_sleep_ends_when_time_is_over),
        TEST(test_waiters_wake_before_sleep_is_not_lost),
        TEST(test_waiters_wake_ends_sleep),
        TEST(test_waiters_role_goes_to_the_first),
        TEST(test_waiters_progress_thread_is_behind_all),
        TEST(test_waiters_arm_sees_wakes_since_epoch),
        TEST(test_waiters_entry_wakes_first_that_runs_it),
        TEST(test_waiters_ring_wakes_all_that_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
