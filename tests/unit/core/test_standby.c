/* SPDX-License-Identifier: BSD-3-Clause */
/* Standby: a step makes progress if no caller does, else sleeps; a call of
 * another thread ends the step, or the next one, and so does an entry that the
 * thread may run. */
#include "core/progress.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/clock.h"
#include "medium.h"
#include "mercury_context.h"

enum { ROUNDS = 2000, NAPS = 10 };

static struct amg_standby standby;

static int open_all(void **state)
{
    int rc = medium_open_sleeping(state);

    standby = (struct amg_standby){.quiet_since_ns = 0};
    amg_standby_begin(&standby, medium_context, false);
    return rc;
}

static int close_all(void **state)
{
    (void)state;
    amg_standby_end(&standby);
    assert_false(amg_cq_has_armed(&medium_context->cq));
    assert_false(atomic_load(&medium.is_armed));
    medium_close(medium_context);
    return 0;
}

static void test_standby_step_takes_events(void **state)
{
    (void)state;
    medium_send();
    assert_true(amg_standby_step(&standby, 0));
    assert_int_equal(atomic_load(&medium.events), 0);
}

static void test_standby_step_does_not_sleep_after_its_time(void **state)
{
    (void)state;
    (void)amg_standby_step(&standby, 0);
    (void)amg_standby_step(&standby, amg_clock_ns());
    assert_true(atomic_load(&medium.polls) >= 2);
    assert_int_equal(atomic_load(&medium.arms), 0);
}

static void test_standby_leaves_progress_to_callers(void **state)
{
    unsigned polls = 0;

    (void)state;
    for (unsigned i = 0; i < 2 * NAPS; i++) {
        assert_int_equal(HG_Progress(medium_context, 0), HG_TIMEOUT);
        polls = atomic_load(&medium.polls);
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
        assert_int_equal(atomic_load(&medium.polls), polls);
    }
    while (atomic_load(&medium.polls) == polls)
        (void)amg_standby_step(&standby, amg_clock_deadline_ns(1));
}

static void test_standby_defers_as_if_a_caller_came(void **state)
{
    (void)state;
    amg_standby_defer(&standby);
    (void)amg_standby_step(&standby, 0);
    assert_int_equal(atomic_load(&medium.polls), 0);
}

/* Behind an owner that stays, naps become a sleep that the owner ends. */
static void *step_behind(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i <= NAPS; i++)
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
    while (atomic_load(&medium.events) > 0)
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
    return NULL;
}

static void test_standby_is_woken_by_an_owner_that_leaves(void **state)
{
    pthread_t thread;

    (void)state;
    assert_true(amg_progress_own(medium_context));
    assert_int_equal(pthread_create(&thread, NULL, step_behind, NULL), 0);
    while (!amg_cq_is_armed(&medium_context->cq, AMG_CQ_THREAD))
        sched_yield();
    medium_send();
    amg_progress_disown(medium_context);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&medium.events), 0);
}

/* Number of times that the calling thread has slept. */
static long sleeps(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

/* The owner behind which the thread slept has left, and others keep the thread
 * from taking over: each step sleeps. Half of the steps: a sleep of a preempted
 * thread may be over before it begins. */
static void test_standby_sleeps_where_an_owner_has_left(void **state)
{
    long before = 0;

    (void)state;
    assert_true(amg_progress_own(medium_context));
    for (unsigned i = 0; i < NAPS; i++)
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
    amg_progress_disown(medium_context);
    before = sleeps();
    for (unsigned i = 0; i < 2 * NAPS; i++) {
        amg_standby_defer(&standby);
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
    }
    assert_true(sleeps() - before >= NAPS);
}

static void nothing_run(struct amg_cq_entry *entry)
{
    (void)entry;
}

/* A thread stands by, and has announced its sleep: does an entry that is queued
 * then signal its doorbell, and does a queued entry keep it from sleeping? */
static bool entry_is_heeded(void)
{
    static struct amg_cq_entry entry = {.run = nothing_run};
    struct amg_cq *cq = &medium_context->cq;
    struct pollfd bell = {.events = POLLIN};
    bool is_signaled = false;

    bell.fd = amg_wakeup_fd(medium_context, AMG_CQ_THREAD);
    assert_true(bell.fd >= 0);
    assert_true(amg_cq_arm(cq, AMG_CQ_THREAD, amg_cq_epoch(cq)));
    amg_cq_push(cq, &entry);
    is_signaled = poll(&bell, 1, 0) == 1;
    amg_cq_disarm(cq, AMG_CQ_THREAD);
    assert_int_equal(
        amg_cq_arm(cq, AMG_CQ_THREAD, amg_cq_epoch(cq)), !is_signaled);
    amg_cq_disarm(cq, AMG_CQ_THREAD);
    assert_int_equal(HG_Trigger(medium_context, 0, 1, NULL), HG_SUCCESS);
    return is_signaled;
}

static void test_standby_of_program_is_woken_by_an_entry(void **state)
{
    (void)state;
    assert_true(entry_is_heeded());
}

/* The progress thread may run incoming calls only: no other entry wakes it. */
static void test_standby_of_library_is_not_woken_by_an_entry(void **state)
{
    (void)state;
    (void)medium_open_sleeping(state);
    standby = (struct amg_standby){.quiet_since_ns = 0};
    amg_role.is_library_thread = true;
    amg_standby_begin(&standby, medium_context, false);
    amg_role.is_library_thread = false;
    assert_false(entry_is_heeded());
}

static atomic_uint called;
static atomic_uint seen;

static void *call_all(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= ROUNDS; i++) {
        atomic_store(&called, i);
        amg_standby_call(&standby, medium_context);
        while (atomic_load(&seen) < i)
            sched_yield();
    }
    return NULL;
}

/* A step that ends by a call leaves `quiet_since_ns` 0, as nothing else ends
 * one here; a step that lost the call would end by its time. */
static void test_standby_loses_no_call(void **state)
{
    pthread_t thread;

    (void)state;
    atomic_store(&called, 0);
    atomic_store(&seen, 0);
    assert_int_equal(pthread_create(&thread, NULL, call_all, NULL), 0);
    while (atomic_load(&seen) < ROUNDS) {
        (void)amg_standby_step(&standby, AMG_NO_DEADLINE);
        assert_int_equal(standby.quiet_since_ns, 0);
        atomic_store(&seen, atomic_load(&called));
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_standby_step_takes_events, open_all, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_step_does_not_sleep_after_its_time, open_all,
            close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_leaves_progress_to_callers, open_all, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_defers_as_if_a_caller_came, open_all, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_is_woken_by_an_owner_that_leaves, open_all, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_sleeps_where_an_owner_has_left, open_all, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_of_program_is_woken_by_an_entry, open_all, close_all),
        cmocka_unit_test_teardown(
            test_standby_of_library_is_not_woken_by_an_entry, close_all),
        cmocka_unit_test_setup_teardown(
            test_standby_loses_no_call, open_all, close_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
