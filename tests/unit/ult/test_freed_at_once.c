/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and streams that are freed as soon as the program may do so are not
 * accessed afterwards by threads that pushed or made requests before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "abt.h"
#include "base/assert.h"
#include "unit/ult/begun.h"

static atomic_bool is_asked;
static atomic_bool is_settling;
static atomic_bool is_freed;
static _Atomic(ABT_unit) shelved; /* unit in the user's pool */

static ABT_unit unit_create(ABT_pool pool, ABT_thread thread)
{
    (void)pool;
    return (ABT_unit)(void *)thread;
}

static void unit_free(ABT_pool pool, ABT_unit unit)
{
    (void)pool;
    (void)unit;
}

static ABT_bool is_empty(ABT_pool pool)
{
    (void)pool;
    return atomic_load(&shelved) == ABT_UNIT_NULL ? ABT_TRUE : ABT_FALSE;
}

static ABT_thread pop(ABT_pool pool, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    return (ABT_thread)(void *)atomic_exchange(&shelved, ABT_UNIT_NULL);
}

static void push(ABT_pool pool, ABT_unit unit, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    atomic_store(&shelved, unit);
}

/* Runs in the thread that pushes, or sends a request. */
static void hook(const char *name)
{
    if (strcmp(name, "ready_pool.quiesce") == 0)
        atomic_store(&is_settling, true);
    if (strcmp(name, "sched.asked") == 0)
        atomic_store(&is_asked, true);
    if (strcmp(name, "ready_pool.pushed") == 0 ||
        strcmp(name, "sched.asked") == 0)
        while (!atomic_load(&is_freed) && !atomic_load(&is_settling))
            sched_yield();
}

static void points_begin(void)
{
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    atomic_store(&is_asked, false);
    atomic_store(&is_settling, false);
    atomic_store(&is_freed, false);
    amg_test_point_set(hook);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Takes the pushed thread, runs it from its own pool, and frees the pool. */
static void pool_end(void *arg)
{
    ABT_pool pool = arg;
    ABT_pool own = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    while (thread == ABT_THREAD_NULL)
        ABT_pool_pop_thread(pool, &thread);
    ABT_self_get_last_pool(&own);
    ABT_pool_push_thread(own, thread);
    ABT_thread_free(&thread);
    if (ABT_pool_free(&pool) == ABT_SUCCESS)
        atomic_store(&is_freed, true);
}

static void test_let_go_of_pool_whose_thread_has_ended(void **state)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread other = ABT_THREAD_NULL;

    (void)state;
    points_begin();
    assert_int_equal(ABT_pool_user_def_create(
                         unit_create, unit_free, is_empty, pop, push, &def),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create_on_xstream(
                         stream, pool_end, pool, ABT_THREAD_ATTR_NULL, &other),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_create(pool, nothing, NULL, ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&other), ABT_SUCCESS);
    amg_test_point_set(NULL);
    assert_true(atomic_load(&is_freed));
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_pool_user_def_free(&def), ABT_SUCCESS);
}

/* Keeps its stream busy, so that a push need not wake it. */
static void keeper(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    while (!atomic_load(&is_asked))
        sched_yield();
}

static void *stream_end(void *arg)
{
    ABT_xstream stream = arg;

    while (!atomic_load(&is_asked))
        sched_yield();
    ABT_xstream_free(&stream);
    atomic_store(&is_freed, true);
    return NULL;
}

static void test_let_go_of_stream_that_ends_as_asked(void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    atomic_bool is_kept = false;
    pthread_t thread;

    (void)state;
    points_begin();
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_sched(stream, &sched), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create_on_xstream(
                         stream, keeper, &is_kept, ABT_THREAD_ATTR_NULL, NULL),
        ABT_SUCCESS);
    while (!atomic_load(&is_kept))
        sched_yield();
    assert_int_equal(pthread_create(&thread, NULL, stream_end, stream), 0);
    assert_int_equal(ABT_sched_finish(sched), ABT_SUCCESS);
    amg_test_point_set(NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Runs after the switch from a thread that suspends itself: if its state is
 * blocked already, a thread that resumes it could overtake. */
static _Atomic(ABT_thread) suspended;
static atomic_bool is_tried;

static void suspend_hook(const char *name)
{
    ABT_thread_state now = ABT_THREAD_STATE_READY;

    if (strcmp(name, "switch_to.suspended") != 0 ||
        atomic_load(&suspended) == ABT_THREAD_NULL)
        return;
    ABT_thread_get_state(atomic_load(&suspended), &now);
    while (now == ABT_THREAD_STATE_BLOCKED && !atomic_load(&is_tried))
        sched_yield();
}

static void suspend(void *arg)
{
    ABT_thread self = ABT_THREAD_NULL;

    (void)arg;
    ABT_thread_self(&self);
    atomic_store(&suspended, self);
    ABT_self_suspend();
}

static void test_let_go_of_thread_whose_state_is_blocked(void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state now = ABT_THREAD_STATE_READY;

    (void)state;
    points_begin();
    amg_test_point_set(suspend_hook);
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create_on_xstream(
                         stream, suspend, NULL, ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    while (now != ABT_THREAD_STATE_BLOCKED)
        ABT_thread_get_state(thread, &now);
    assert_int_equal(ABT_thread_resume(thread), ABT_SUCCESS);
    atomic_store(&is_tried, true);
    amg_test_point_set(NULL);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_let_go_of_pool_whose_thread_has_ended),
        cmocka_unit_test(test_let_go_of_stream_that_ends_as_asked),
        cmocka_unit_test(test_let_go_of_thread_whose_state_is_blocked),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
