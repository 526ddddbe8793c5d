/* SPDX-License-Identifier: BSD-3-Clause */
/* Binding of a thread to its slot, or else to the process binding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "affinity/bind.h"
#include "log_kept.h"

/* The hardware threads that the calling thread may run on. */
static struct amg_cpuset now(void)
{
    struct amg_cpuset set;

    assert_int_equal(amg_bind_thread_get(0, &set), 0);
    return set;
}

/* Result of amg_bind_core_slot() in a thread of its own, and the binding after
 * it. */
struct
try {
    struct amg_machine machine;
    struct amg_core_slot slot;
    bool is_pinned;
    struct amg_cpuset got;
};

static void *try_main(void *arg)
{
    struct try *try = arg;

    try->is_pinned = amg_bind_core_slot(&try->machine, &try->slot, "the test");
    try->got = now();
    return NULL;
}

static struct try run(bool is_this, int cpu)
{
    struct try try = {.machine = {.is_this = is_this}, .slot = {.cpu = cpu}};
    pthread_t thread;

    log_clear();
    assert_int_equal(pthread_create(&thread, NULL, try_main, &try), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return try;
}

static void test_bind_process_is_what_it_started_with(void **state)
{
    struct amg_cpuset start = now();

    (void)state;
    assert_memory_equal(amg_bind_process(), &start, sizeof(start));
}

static void test_bind_slot_pins(void **state)
{
    struct amg_cpuset start = *amg_bind_process();

    (void)state;
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        struct try try;

        if (!amg_cpuset_has(&start, cpu))
            continue;
        try = run(true, (int)cpu);
        assert_true(try.is_pinned);
        assert_int_equal(amg_cpuset_count(&try.got), 1);
        assert_true(amg_cpuset_has(&try.got, cpu));
    }
    assert_int_equal(log_lines, 0);
}

static void test_bind_slot_without_cpu_is_the_process_binding(void **state)
{
    struct amg_cpuset start = *amg_bind_process();
    cpu_set_t one;
    cpu_set_t old;
    struct try try;

    (void)state;
    /* A thread inherits the binding of its creator. */
    assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    try = run(true, -1);
    assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
    assert_true(try.is_pinned);
    assert_memory_equal(&try.got, &start, sizeof(start));
}

static void test_bind_slot_of_a_false_machine_is_not_taken(void **state)
{
    struct amg_cpuset start = *amg_bind_process();
    struct try try = run(false, 0);

    (void)state;
    assert_false(try.is_pinned);
    assert_memory_equal(&try.got, &start, sizeof(start));
    assert_int_equal(log_lines, 0);
}

static void test_bind_slot_refused_warns_once(void **state)
{
    struct amg_cpuset start = *amg_bind_process();
    struct try try;

    (void)state;
    if (amg_cpuset_has(&start, AMG_CPUS_MAX - 1))
        skip();
    try = run(true, AMG_CPUS_MAX - 1);
    assert_false(try.is_pinned);
    assert_memory_equal(&try.got, &start, sizeof(start));
    assert_int_equal(log_lines, 1);
    assert_true(log_has("the test cannot be pinned to cpu 1023"));
    assert_true(log_has(strerror(EINVAL)));
    try = run(true, AMG_CPUS_MAX - 1);
    assert_false(try.is_pinned);
    assert_memory_equal(&try.got, &start, sizeof(start));
    assert_int_equal(log_lines, 0);
}

static void test_bind_app_threads_reads_the_first_number(void **state)
{
    static const struct {
        const char *text;
        uint32_t count;
    } cases[] = {{"4", 4}, {"4,2", 4}, {" 12 , 3", 12}, {"0", 0}, {"", 0},
        {"four", 0}, {"-1", 0}, {"4x", 0}, {",4", 0},
        {"99999999999999999999999", 0}, {"4294967296", 0}, {"1", 1}};

    (void)state;
    unsetenv("OMP_NUM_THREADS");
    assert_int_equal(amg_bind_app_threads(), 0);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("OMP_NUM_THREADS", cases[i].text, 1);
        assert_int_equal(amg_bind_app_threads(), cases[i].count);
    }
    unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind_process_is_what_it_started_with),
        cmocka_unit_test(test_bind_slot_pins),
        cmocka_unit_test(test_bind_slot_without_cpu_is_the_process_binding),
        cmocka_unit_test(test_bind_slot_of_a_false_machine_is_not_taken),
        cmocka_unit_test(test_bind_slot_refused_warns_once),
        cmocka_unit_test(test_bind_app_threads_reads_the_first_number),
    };

    /* Otherwise the binding would be taken for that of OpenMP. */
    unsetenv("OMP_PROC_BIND");
    unsetenv("OMP_PLACES");
    unsetenv("GOMP_CPU_AFFINITY");
    hg_log_set_func(log_keep);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
