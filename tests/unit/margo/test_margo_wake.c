/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that begins the end of an instance wakes the loop, which may end
 * at once: the context stays open until the loop has been woken. The first of
 * two loops is woken even if the second has ended meanwhile, and makes progress
 * while a callback of the second computes. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/assert.h"
#include "margo-util.h"
#include "margo.h"
#include "margo/instance.h"
#include "margo/loop.h"
#include "slow.h"

#if defined(AMG_TEST_POINTS)
enum { TURNS = 5, MANY_ROUNDS = 100, YIELDS = 200, ALARM_S = 20 * TEST_SLOW };

/* Written before the threads that read it know it, but callbacks of a monitor
 * may run earlier: they ask is_open first. */
static margo_instance_id mid;
static atomic_bool is_open;
static unsigned wakes;
static bool was_open;

/* Waits until the loop has made its last round, and gives it time to close. */
static void wait_at_point(const char *name)
{
    if (strcmp(name, "margo.wake") != 0 || !mid->is_draining)
        return;
    while (amg_margo_state_of(mid) < AMG_MARGO_STOPPED)
        sched_yield();
    for (unsigned i = 0; mid->hg_context != NULL && i < YIELDS; i++)
        sched_yield();
    wakes++;
    was_open = was_open && mid->hg_context != NULL;
}
#endif

static void test_margo_wake_finds_the_context_open(void **state)
{
    (void)state;
#if defined(AMG_TEST_POINTS)
    was_open = true;
    for (unsigned i = 0; i < TURNS; i++) {
        mid = margo_init("na+sm", MARGO_SERVER_MODE, 1, 0);
        assert_non_null(mid);
        amg_test_point_set(wait_at_point);
        margo_finalize(mid);
        amg_test_point_set(NULL);
    }
    assert_true(wakes >= TURNS);
    assert_true(was_open);
#else
    skip();
#endif
}

#if defined(AMG_TEST_POINTS)
static atomic_bool is_held; /* the first loop, until another thread calls it */
static atomic_bool has_begun;
static atomic_bool was_called;

static void hold_first_loop(void *arg, double timestamp,
    margo_monitor_event_t event, margo_monitor_trigger_args_t args)
{
    ABT_bool is_main = ABT_FALSE;

    (void)arg;
    (void)timestamp;
    (void)event;
    (void)args;
    if (!atomic_load(&is_open) ||
        ABT_self_on_primary_xstream(&is_main) != ABT_SUCCESS || is_main ||
        atomic_load(&was_called))
        return;
    atomic_store(&is_held, true);
    while (!atomic_load(&mid->loop->standby.is_called))
        sched_yield();
    atomic_store(&was_called, true);
}

static bool has_second(void)
{
    return atomic_load(&mid->loop->second.is_there);
}

static void wait_for_second(const char *name)
{
    if (strcmp(name, "margo.wake") != 0 || !mid->is_draining)
        return;
    atomic_store(&has_begun, true);
    while (has_second())
        sched_yield();
}

static void *finalize(void *arg)
{
    margo_finalize(mid);
    return arg;
}

/* The instance gets a second loop, as its progress stream shares the core. */
static void open_on_one_core(const struct margo_monitor *monitor)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    cpu_set_t all;
    cpu_set_t one;
    int core = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    info.json_config = "{\"use_progress_thread\":true,\"rpc_thread_count\":0}";
    info.monitor = monitor;
    atomic_store(&is_open, false);
    mid = margo_init_ext("na+sm", MARGO_SERVER_MODE, &info);
    atomic_store(&is_open, true);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    assert_non_null(mid);
    assert_true(has_second());
}
#endif

/* SIGALRM ends a test whose first loop nobody calls. */
static void test_margo_wake_calls_first_loop_after_second_ended(void **state)
{
    (void)state;
#if defined(AMG_TEST_POINTS)
    struct margo_monitor monitor = {.on_trigger = hold_first_loop};
    pthread_t thread;

    alarm(ALARM_S);
    /* Else the thread that ends the last instance would end the runtime. */
    assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
    open_on_one_core(&monitor);
    while (!atomic_load(&is_held))
        sched_yield();
    amg_test_point_set(wait_for_second);
    assert_int_equal(pthread_create(&thread, NULL, finalize, NULL), 0);
    while (!atomic_load(&has_begun))
        sched_yield(); /* the second loop does not run here */
    while (has_second())
        ABT_thread_yield();
    pthread_join(thread, NULL);
    amg_test_point_set(NULL);
    assert_true(atomic_load(&was_called));
    assert_int_equal(ABT_finalize(), ABT_SUCCESS);
    alarm(0);
#else
    skip();
#endif
}

#if defined(AMG_TEST_POINTS)
static atomic_bool has_computed;
static unsigned calm; /* rounds of the first loop in which it made progress */

/* Does the first loop make progress? The word is of its thread alone: a guess,
 * like each single look. */
__attribute__((no_sanitize("thread"))) static bool is_calm(
    const struct amg_margo_loop *loop)
{
    return loop->standby.turned_ns == 0;
}

/* A callback of the second loop that computes during rounds of the first. */
static void compute_in_second_loop(void *arg, double timestamp,
    margo_monitor_event_t event, margo_monitor_trigger_args_t args)
{
    const struct amg_margo_loop *loop = NULL;
    ABT_bool is_main = ABT_FALSE;

    (void)arg;
    (void)timestamp;
    (void)event;
    (void)args;
    if (!atomic_load(&is_open) ||
        ABT_self_on_primary_xstream(&is_main) != ABT_SUCCESS || !is_main ||
        atomic_load(&has_computed))
        return;
    loop = mid->loop;
    for (unsigned i = 0; i < MANY_ROUNDS; i++) {
        uint64_t rounds = atomic_load(&loop->counts.progress_calls);

        while (atomic_load(&loop->counts.progress_calls) == rounds)
            sched_yield();
        calm += is_calm(loop);
    }
    atomic_store(&has_computed, true);
}
#endif

/* The first loop does not only wait for its turn. */
static void test_margo_wake_first_loop_polls_beside_a_callback(void **state)
{
    (void)state;
#if defined(AMG_TEST_POINTS)
    struct margo_monitor monitor = {.on_trigger = compute_in_second_loop};

    alarm(ALARM_S);
    assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
    open_on_one_core(&monitor);
    while (!atomic_load(&has_computed))
        ABT_thread_yield();
    margo_finalize(mid);
    assert_true(calm > MANY_ROUNDS / 2);
    assert_int_equal(ABT_finalize(), ABT_SUCCESS);
    alarm(0);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_margo_wake_finds_the_context_open),
        cmocka_unit_test(test_margo_wake_calls_first_loop_after_second_ended),
        cmocka_unit_test(test_margo_wake_first_loop_polls_beside_a_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
