/* SPDX-License-Identifier: BSD-3-Clause */
/* Standby: a step makes progress if no caller does, else sleeps; a call of
 * another thread ends the step, or the next one. */
#include "core/progress.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
            test_standby_loses_no_call, open_all, close_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
