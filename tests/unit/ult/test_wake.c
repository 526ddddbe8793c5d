/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping streams are woken for ready threads and for their own end, whatever
 * other streams do meanwhile. A lost wake-up is a hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "slow.h"
#include "unit/ult/asleep.h"
#include "unit/ult/begun.h"

static atomic_int runs_on; /* rank of its stream, -1: not started */
static atomic_bool goes;
static atomic_bool has_gone_on;

static ABT_pool pool_create(void)
{
    ABT_pool pool = ABT_POOL_NULL;

    assert_int_equal(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT,
                         ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool),
        ABT_SUCCESS);
    return pool;
}

static ABT_xstream stream_on(int count, ABT_pool *pools)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, count,
                         pools, ABT_SCHED_CONFIG_NULL, &stream),
        ABT_SUCCESS);
    return stream;
}

static ABT_thread thread_in(ABT_pool pool, void (*function)(void *), void *arg)
{
    ABT_thread thread = ABT_THREAD_NULL;

    assert_int_equal(
        ABT_thread_create(pool, function, arg, ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    return thread;
}

static void steps_begin(void)
{
    atomic_store(&runs_on, -1);
    atomic_store(&goes, false);
    atomic_store(&has_gone_on, false);
}

static int wait_until_it_runs(void)
{
    while (atomic_load(&runs_on) < 0)
        sched_yield();
    return atomic_load(&runs_on);
}

/* Occupies its stream until `goes`, and yields once. */
static void yielder(void *arg)
{
    int rank = 0;

    (void)arg;
    ABT_xstream_self_rank(&rank);
    atomic_store(&runs_on, rank);
    while (!atomic_load(&goes))
        sched_yield();
    ABT_thread_yield();
    atomic_store(&has_gone_on, true);
}

static void test_wake_yield_on_stream_that_ends_wakes_another(void **state)
{
    ABT_pool pool = pool_create();
    ABT_xstream streams[2] = {stream_on(1, &pool), stream_on(1, &pool)};
    ABT_thread thread = ABT_THREAD_NULL;
    int rank = 0;
    int busy = 0;

    (void)state;
    steps_begin();
    wait_until_asleep(streams[0]);
    wait_until_asleep(streams[1]);
    thread = thread_in(pool, yielder, NULL);
    ABT_xstream_get_rank(streams[1], &rank);
    busy = wait_until_it_runs() == rank ? 1 : 0;
    wait_until_asleep(streams[1 - busy]);
    assert_int_equal(ABT_xstream_cancel(streams[busy]), ABT_SUCCESS);
    atomic_store(&goes, true);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_true(atomic_load(&has_gone_on));
    for (int i = 0; i < 2; i++)
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
}

/* Occupies its stream until `goes`. */
static void keeper(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
    while (!atomic_load(&goes))
        sched_yield();
}

/* Lets the occupied stream go on, and yields when that sleeps. */
static void asleep_yielder(void *arg)
{
    atomic_store(&goes, true);
    wait_until_asleep(arg);
    ABT_thread_yield();
    atomic_store(&has_gone_on, true);
}

/* The same on the primary stream, after the other one has popped main() and
 * sent it back. */
static void home_yielder(void *arg)
{
    ABT_xstream self = ABT_XSTREAM_NULL;

    ABT_xstream_self(&self);
    atomic_store(&goes, true);
    while (
        (atomic_load(&amg_xstream_of(self)->asked) & AMG_XSTREAM_TO_LOOK) == 0)
        sched_yield();
    asleep_yielder(arg);
}

static void test_wake_yield_before_main_returns_wakes_another(void **state)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pools[2] = {pool_create(), ABT_POOL_NULL};
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread threads[2];
    atomic_bool is_kept = false;

    (void)state;
    steps_begin();
    ABT_xstream_self(&self);
    ABT_xstream_get_main_pools(self, 1, &pools[1]);
    stream = stream_on(2, pools);
    threads[0] = thread_in(pools[0], keeper, &is_kept);
    while (!atomic_load(&is_kept))
        sched_yield();
    threads[1] = thread_in(pools[1], home_yielder, stream);
    ABT_thread_yield();
    /* main() runs again, and does not yield. */
    while (!atomic_load(&has_gone_on))
        sched_yield();
    for (int i = 0; i < 2; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

/* A scheduler that runs one thread, and then waits until another stream has
 * continued it. */
static void sched_run(ABT_sched sched)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_bool stop = ABT_FALSE;

    ABT_sched_get_pools(sched, 1, 0, &pool);
    ABT_pool_pop_thread(pool, &thread);
    ABT_self_schedule(thread, ABT_POOL_NULL);
    while (!atomic_load(&has_gone_on))
        sched_yield();
    while (stop == ABT_FALSE)
        ABT_sched_has_to_stop(sched, &stop);
}

static void test_wake_yield_to_scheduler_of_the_program_wakes_another(
    void **state)
{
    ABT_sched_def def = {.type = ABT_SCHED_TYPE_ULT, .run = sched_run};
    ABT_pool pool = pool_create();
    ABT_pool own = pool_create();
    ABT_pool pools[2] = {own, pool};
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_xstream streams[2];
    ABT_thread threads[2];
    atomic_bool is_kept = false;

    (void)state;
    steps_begin();
    streams[0] = stream_on(2, pools);
    threads[0] = thread_in(own, keeper, &is_kept);
    while (!atomic_load(&is_kept))
        sched_yield();
    assert_int_equal(
        ABT_sched_create(&def, 1, &pool, ABT_SCHED_CONFIG_NULL, &sched),
        ABT_SUCCESS);
    threads[1] = thread_in(pool, asleep_yielder, streams[0]);
    assert_int_equal(ABT_xstream_create(sched, &streams[1]), ABT_SUCCESS);
    while (!atomic_load(&has_gone_on))
        sched_yield();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
    }
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

static void suspender(void *arg)
{
    (void)arg;
    ABT_self_suspend();
}

/* State of a stream that is joined and whose last blocked thread moves or ends.
 */
struct joined {
    ABT_xstream stream;
    ABT_pool pool;
    ABT_thread blocked;
    ABT_xstream other; /* created by the helper */
};

/* Runs on another stream, once the joined one sleeps. */
static void migrating_helper(void *arg)
{
    struct joined *joined = arg;
    ABT_pool mine = ABT_POOL_NULL;

    wait_until_joined_asleep(joined->stream);
    ABT_self_get_last_pool(&mine);
    ABT_thread_migrate_to_pool(joined->blocked, mine);
    ABT_thread_resume(joined->blocked);
}

static void resuming_helper(void *arg)
{
    struct joined *joined = arg;

    wait_until_joined_asleep(joined->stream);
    ABT_self_resume_yield_to(joined->blocked);
}

static void sharing_helper(void *arg)
{
    struct joined *joined = arg;

    wait_until_joined_asleep(joined->stream);
    joined->other = stream_on(1, &joined->pool);
}

static void join_with(void (*helper)(void *arg))
{
    struct joined joined = {.pool = pool_create()};
    ABT_pool pool = pool_create();
    ABT_xstream stream = stream_on(1, &pool);
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state state = ABT_THREAD_STATE_READY;

    joined.stream = stream_on(1, &joined.pool);
    joined.blocked = thread_in(joined.pool, suspender, NULL);
    while (state != ABT_THREAD_STATE_BLOCKED)
        ABT_thread_get_state(joined.blocked, &state);
    wait_until_asleep(joined.stream);
    thread = thread_in(pool, helper, &joined);
    assert_int_equal(ABT_xstream_join(joined.stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    if (joined.other != ABT_XSTREAM_NULL)
        assert_int_equal(ABT_thread_resume(joined.blocked), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&joined.blocked), ABT_SUCCESS);
    if (joined.other != ABT_XSTREAM_NULL)
        assert_int_equal(ABT_xstream_free(&joined.other), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&joined.stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_wake_join_whose_blocked_thread_migrates_returns(void **state)
{
    (void)state;
    join_with(migrating_helper);
}

static void test_wake_join_whose_blocked_thread_runs_elsewhere_returns(
    void **state)
{
    (void)state;
    join_with(resuming_helper);
}

static void test_wake_join_whose_pool_is_shared_returns(void **state)
{
    (void)state;
    join_with(sharing_helper);
}

/* A scheduler that waits in its pool while that is empty. */
static void waiting_run(ABT_sched sched)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_bool stop = ABT_FALSE;

    ABT_sched_get_pools(sched, 1, 0, &pool);
    while (stop == ABT_FALSE) {
        ABT_thread thread = ABT_THREAD_NULL;

        ABT_pool_pop_wait_thread(pool, &thread, 1e9);
        if (thread != ABT_THREAD_NULL)
            ABT_self_schedule(thread, ABT_POOL_NULL);
        ABT_sched_has_to_stop(sched, &stop);
    }
}

static void resuming_when_joined(void *arg)
{
    struct joined *joined = arg;

    wait_until_joined_asleep(joined->stream);
    ABT_thread_resume(joined->blocked);
}

static void test_wake_pop_wait_of_joined_stream_sleeps(void **state)
{
    ABT_sched_def def = {.type = ABT_SCHED_TYPE_ULT, .run = waiting_run};
    struct joined joined = {.pool = pool_create()};
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = pool_create();
    ABT_xstream stream = stream_on(1, &pool);

    (void)state;
    assert_int_equal(
        ABT_sched_create(&def, 1, &joined.pool, ABT_SCHED_CONFIG_NULL, &sched),
        ABT_SUCCESS);
    assert_int_equal(ABT_xstream_create(sched, &joined.stream), ABT_SUCCESS);
    joined.blocked = thread_in(joined.pool, suspender, NULL);
    wait_until_asleep(joined.stream);
    thread = thread_in(pool, resuming_when_joined, &joined);
    assert_int_equal(ABT_xstream_free(&joined.stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&joined.blocked), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

enum { ALARM_S = 20 * TEST_SLOW };

static struct amg_xstream *home; /* of main() */
static atomic_bool has_ended;

/* The primary stream goes on when another one has sent main() back to it. */
static void ended_hook(const char *name)
{
    if (strcmp(name, "runtime.sched_ended") != 0 ||
        atomic_exchange(&has_ended, true))
        return;
    while ((atomic_load(&home->asked) & AMG_XSTREAM_TO_LOOK) == 0)
        sched_yield();
}

/* SIGALRM ends a test whose main() nobody takes. */
static void test_wake_main_sent_back_while_scheduler_ends_runs(void **state)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_xstream stream = ABT_XSTREAM_NULL;

    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    ABT_xstream_self(&self);
    ABT_xstream_get_main_pools(self, 1, &pool);
    ABT_xstream_get_main_sched(self, &sched);
    home = amg_xstream_of(self);
    alarm(ALARM_S);
    stream = stream_on(1, &pool);
    amg_test_point_set(ended_hook);
    assert_int_equal(ABT_sched_exit(sched), ABT_SUCCESS);
    while (!atomic_load(&has_ended))
        ABT_thread_yield();
    amg_test_point_set(NULL);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wake_yield_on_stream_that_ends_wakes_another),
        cmocka_unit_test(test_wake_yield_before_main_returns_wakes_another),
        cmocka_unit_test(
            test_wake_yield_to_scheduler_of_the_program_wakes_another),
        cmocka_unit_test(test_wake_join_whose_blocked_thread_migrates_returns),
        cmocka_unit_test(
            test_wake_join_whose_blocked_thread_runs_elsewhere_returns),
        cmocka_unit_test(test_wake_join_whose_pool_is_shared_returns),
        cmocka_unit_test(test_wake_pop_wait_of_joined_stream_sleeps),
        cmocka_unit_test(test_wake_main_sent_back_while_scheduler_ends_runs),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
