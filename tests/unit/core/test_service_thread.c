/* SPDX-License-Identifier: BSD-3-Clause */
/* Service thread of a context: makes progress while no caller does, blocks when
 * idle, and runs requests of peers. */
#include "core/progress.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "medium.h"
#include "mercury_context.h"
#include "affinity/bind.h"

enum { ENTRIES = 500, SHORT_MS = 2, NAME_CAP = 16, FEW_POLLS = 100 };

/* Starts the thread of this configuration on that slot. */
static void threads_begin_on(
    enum amalgam_progress progress, struct amg_core_slot slot)
{
    struct amg_progress_config *config = &medium_context->cls->progress_config;

    config->placed = (struct amg_placement){.progress = progress, .slot = slot};
    config->placement = &config->placed;
    amg_service_thread_start(medium_context);
    assert_non_null(medium_context->thread);
}

/* Starts the thread of this configuration, unpinned. */
static void threads_begin(enum amalgam_progress progress, bool is_dedicated)
{
    threads_begin_on(progress, (struct amg_core_slot){.cpu = -1,
                                   .is_dedicated = is_dedicated,
                                   .rule = AMG_SLOT_UNPINNED});
}

static int close_all(void **state)
{
    (void)state;
    assert_true(amg_service_thread_stop(medium_context));
    assert_null(medium_context->thread);
    /* A thread that has ended is not signaled. */
    assert_false(amg_cq_has_armed(&medium_context->cq));
    assert_false(atomic_load(&medium.is_armed));
    medium_close(medium_context);
    return 0;
}

static void until_thread_sleeps(void)
{
    while (!amg_cq_is_armed(&medium_context->cq, AMG_CQ_THREAD) ||
           (!medium.is_not_pollable && !atomic_load(&medium.is_armed)))
        sched_yield();
}

static void until_taken(void)
{
    while (atomic_load(&medium.events) > 0)
        sched_yield();
}

/* An entry that records the thread that ran it. */
struct told {
    struct amg_cq_entry entry;
    atomic_uint ran;
    bool by_ours;
    bool is_serving;
    bool has_signals;
    char name[NAME_CAP];
};

static struct told told[ENTRIES];

static void told_run(struct amg_cq_entry *entry)
{
    struct told *one = amg_container_of(entry, struct told, entry);
    sigset_t blocked;

    one->by_ours = amg_role.is_library_thread;
    one->is_serving = amg_role.is_serving;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    one->has_signals = sigismember(&blocked, SIGINT) == 0;
    prctl(PR_GET_NAME, one->name);
    atomic_fetch_add(&one->ran, 1);
}

static void told_queue(unsigned i, bool is_incoming)
{
    told[i].entry.run = told_run;
    told[i].entry.is_incoming = is_incoming;
    atomic_store(&told[i].ran, 0);
    amg_context_queue(medium_context, &told[i].entry);
}

static void told_await(unsigned i)
{
    while (atomic_load(&told[i].ran) == 0)
        sched_yield();
}

static void test_service_thread_progress_receives_messages(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_ASSIST, false);
    for (unsigned i = 0; i < ENTRIES; i++) {
        if (i % 2 == 0)
            until_thread_sleeps();
        medium_send();
        until_taken();
    }
}

static void test_service_thread_progress_on_own_core_receives_messages(
    void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_ASSIST, true);
    for (unsigned i = 0; i < ENTRIES; i++) {
        medium_send();
        until_taken();
    }
}

/* If it took the core for its own, it would poll for 200 ms. */
static void test_service_thread_progress_without_its_core_blocks_at_once(
    void **state)
{
    (void)state;
    if (amg_cpuset_has(amg_bind_process(), AMG_CPUS_MAX - 1))
        skip();
    threads_begin_on(
        AMALGAM_PROGRESS_ASSIST, (struct amg_core_slot){.cpu = AMG_CPUS_MAX - 1,
                                     .is_dedicated = true,
                                     .rule = AMG_SLOT_CHOSEN});
    until_thread_sleeps();
    assert_true(atomic_load(&medium.polls) < FEW_POLLS);
}

static void test_service_thread_progress_blocks_beside_full_queue(void **state)
{
    (void)state;
    told_queue(0, false); /* the program's, which computes */
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    until_thread_sleeps();
    assert_int_equal(atomic_load(&told[0].ran), 0);
    assert_int_equal(HG_Trigger(medium_context, 0, 1, NULL), HG_SUCCESS);
    assert_int_equal(atomic_load(&told[0].ran), 1);
    assert_false(told[0].by_ours);
    assert_false(told[0].is_serving);
}

static void test_service_thread_progress_takes_over_from_callers(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_ASSIST, false);
    for (unsigned i = 0; i < 5; i++) {
        until_thread_sleeps();
        /* Ends the announced wait of the thread. */
        assert_int_equal(
            HG_Progress(medium_context, i % 2 * SHORT_MS), HG_TIMEOUT);
    }
    until_thread_sleeps();
    medium_send();
    until_taken();
}

static void *wake_when_asleep(void *arg)
{
    (void)arg;
    while (!amg_cq_is_armed(&medium_context->cq, AMG_CQ_OWNER))
        sched_yield();
    /* The thread leaves progress to the caller, also if it is slow to do so. */
    for (unsigned i = 0; i < ENTRIES; i++)
        sched_yield();
    medium_send();
    return NULL;
}

static void test_service_thread_progress_takes_over_from_a_sleeper(void **state)
{
    pthread_t thread;

    (void)state;
    threads_begin(AMALGAM_PROGRESS_ASSIST, false);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(
            pthread_create(&thread, NULL, wake_when_asleep, NULL), 0);
        while (HG_Progress(medium_context, MEDIUM_WAIT_MS) != HG_SUCCESS ||
               atomic_load(&medium.events) > 0)
            continue;
        pthread_join(thread, NULL);
        until_thread_sleeps();
    }
}

static void test_service_thread_progress_runs_what_is_served(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    assert_int_equal(medium_context->incoming_mode, AMG_SERVE_THREAD);
    for (unsigned i = 0; i < ENTRIES; i++) {
        told_queue(i, true);
        told_await(i);
        assert_true(told[i].by_ours);
        assert_true(told[i].is_serving);
        assert_false(told[i].has_signals);
        assert_string_equal(told[i].name, "amg-progress");
    }
}

static void test_service_thread_progress_or_trigger_runs_what_is_served(
    void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    for (unsigned i = 0; i < ENTRIES; i++) {
        told_queue(i, true);
        while (atomic_load(&told[i].ran) == 0)
            (void)HG_Trigger(medium_context, 1, 1, NULL);
        assert_int_equal(atomic_load(&told[i].ran), 1);
    }
}

static atomic_uint nested_ended;

/* A handler that starts an operation, and waits for its end as the main thread
 * of a program would. */
static void nested_run(struct amg_cq_entry *entry)
{
    unsigned i = (unsigned)(amg_container_of(entry, struct told, entry) - told);

    told_queue(i + 1, true);
    while (atomic_load(&told[i + 1].ran) == 0) {
        (void)HG_Progress(medium_context, MEDIUM_WAIT_MS);
        (void)HG_Trigger(medium_context, 0, 1, NULL);
    }
    atomic_fetch_add(&nested_ended, 1);
}

static void nested_all(void)
{
    atomic_store(&nested_ended, 0);
    for (unsigned i = 0; i < ENTRIES; i += 2) {
        told[i].entry.run = nested_run;
        told[i].entry.is_incoming = true;
        amg_context_queue(medium_context, &told[i].entry);
    }
    while (atomic_load(&nested_ended) < ENTRIES / 2)
        sched_yield();
}

static void test_service_thread_progress_that_waits_in_handler_is_woken(
    void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    nested_all();
}

static atomic_bool was_refused;

static void stop_run(struct amg_cq_entry *entry)
{
    (void)entry;
    atomic_store(&was_refused, !amg_service_thread_stop(medium_context));
    atomic_fetch_add(&nested_ended, 1);
}

static void test_service_thread_does_not_stop_itself(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    atomic_store(&nested_ended, 0);
    told[0].entry.run = stop_run;
    told[0].entry.is_incoming = true;
    amg_context_queue(medium_context, &told[0].entry);
    while (atomic_load(&nested_ended) == 0)
        sched_yield();
    assert_true(atomic_load(&was_refused));
}

static void test_service_thread_stops_and_starts_again(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    for (unsigned i = 0; i < 50; i++) {
        told_queue(0, true);
        told_await(0);
        if (i % 2 == 0)
            until_thread_sleeps();
        assert_true(amg_service_thread_stop(medium_context));
        assert_false(amg_cq_has_armed(&medium_context->cq));
        assert_false(atomic_load(&medium.is_armed));
        amg_service_thread_start(medium_context);
    }
}

/* Leaves an incoming call in the queue by a turn that the test holds, and
 * checks that a call which comes without the threads runs behind it. */
static void test_service_thread_leave_calls_in_order(void **state)
{
    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    atomic_store(&medium_context->turn, &amg_role);
    told_queue(0, true);
    assert_true(amg_service_thread_stop(medium_context));
    atomic_store(&medium_context->turn, NULL);
    told_queue(1, true);
    assert_int_equal(HG_Trigger(medium_context, 0, 1, NULL), HG_SUCCESS);
    assert_int_equal(atomic_load(&told[0].ran), 1);
    assert_int_equal(atomic_load(&told[1].ran), 0);
    amg_service_thread_start(medium_context);
    told_await(1);
}

/* Sends one message at a time, while other threads call or not. */
static atomic_bool is_over;

static void *caller_main(void *arg)
{
    unsigned timeout_ms = (unsigned)(uintptr_t)arg;

    while (!atomic_load(&is_over)) {
        (void)HG_Progress(medium_context, timeout_ms);
        (void)HG_Trigger(medium_context, 0, ENTRIES, NULL);
        sched_yield(); /* more threads than cores spin here */
    }
    return NULL;
}

static void callers_come_and_go(bool is_dedicated)
{
    pthread_t callers[3];

    threads_begin(AMALGAM_PROGRESS_THREAD, is_dedicated);
    for (unsigned round = 0; round < 10; round++) {
        unsigned count = round % 4;

        atomic_store(&is_over, false);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(pthread_create(&callers[i], NULL, caller_main,
                                 (void *)(uintptr_t)i),
                0);
        for (unsigned i = 0; i < ENTRIES / 50; i++) {
            medium_send();
            until_taken();
            told_queue(i, true);
            told_await(i);
            assert_int_equal(atomic_load(&told[i].ran), 1);
        }
        atomic_store(&is_over, true);
        for (unsigned i = 0; i < count; i++)
            pthread_join(callers[i], NULL);
    }
}

static void test_service_thread_loses_nothing_while_callers_come(void **state)
{
    (void)state;
    callers_come_and_go(false);
}

static void test_service_thread_on_own_core_loses_nothing_while_callers_come(
    void **state)
{
    (void)state;
    callers_come_and_go(true);
}

static void test_service_thread_of_the_parent_are_left_alone(void **state)
{
    int status = 0;
    pid_t child = 0;

    (void)state;
    threads_begin(AMALGAM_PROGRESS_THREAD, false);
    until_thread_sleeps();
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hg_return_t rc = HG_Progress(medium_context, 1000);

        _exit(rc == HG_OPNOTSUPPORTED &&
                      HG_Context_get_class(medium_context) != NULL
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    told_queue(0, true);
    told_await(0);
}

#define OVER(test, setup)                                                      \
    cmocka_unit_test_setup_teardown(test, setup, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER(test_service_thread_progress_receives_messages,
            medium_open_sleeping),
        OVER(test_service_thread_progress_receives_messages,
            medium_open_not_pollable),
        OVER(test_service_thread_progress_on_own_core_receives_messages,
            medium_open_sleeping),
        OVER(test_service_thread_progress_on_own_core_receives_messages,
            medium_open_not_pollable),
        OVER(test_service_thread_progress_without_its_core_blocks_at_once,
            medium_open_sleeping),
        OVER(test_service_thread_progress_blocks_beside_full_queue,
            medium_open_sleeping),
        OVER(test_service_thread_progress_takes_over_from_callers,
            medium_open_sleeping),
        OVER(test_service_thread_progress_takes_over_from_callers,
            medium_open_not_pollable),
        OVER(test_service_thread_progress_takes_over_from_a_sleeper,
            medium_open_sleeping),
        OVER(test_service_thread_progress_runs_what_is_served,
            medium_open_sleeping),
        OVER(test_service_thread_progress_runs_what_is_served,
            medium_open_not_pollable),
        OVER(test_service_thread_progress_or_trigger_runs_what_is_served,
            medium_open_sleeping),
        OVER(test_service_thread_progress_that_waits_in_handler_is_woken,
            medium_open_sleeping),
        OVER(test_service_thread_does_not_stop_itself, medium_open_sleeping),
        OVER(test_service_thread_stops_and_starts_again, medium_open_sleeping),
        OVER(test_service_thread_leave_calls_in_order, medium_open_sleeping),
        OVER(
            test_service_thread_leave_calls_in_order, medium_open_not_pollable),
        OVER(test_service_thread_loses_nothing_while_callers_come,
            medium_open_sleeping),
        OVER(test_service_thread_loses_nothing_while_callers_come,
            medium_open_not_pollable),
        OVER(test_service_thread_on_own_core_loses_nothing_while_callers_come,
            medium_open_sleeping),
        OVER(test_service_thread_of_the_parent_are_left_alone,
            medium_open_sleeping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
