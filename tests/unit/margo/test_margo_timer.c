/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing timer belongs to its loop until its function returns: a thread that
 * disarms it, or another loop, waits for that and leaves the stream to the loop
 * meanwhile; timers that the other loop fires change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "base/clock.h"
#include "margo-timer.h"
#include "margo/instance.h"
#include "margo/log.h"
#include "margo/request.h"

enum { ALARM_S = 20, TURNS = 5 };

static struct amg_margo_timers timers;
static struct amg_margo_log test_log;
static struct margo_instance mid = {.timers = &timers, .log = &test_log};

/* A timer whose function yields some times, or until it may end. */
struct shot {
    struct amg_margo_timer timer;
    atomic_bool is_open;
    bool has_begun;
    bool has_ended;
};

static void shot_fire(struct amg_margo_timer *timer, bool is_due)
{
    struct shot *shot = amg_container_of(timer, struct shot, timer);

    assert_true(is_due);
    shot->has_begun = true;
    for (unsigned i = 0; i < TURNS || !atomic_load(&shot->is_open); i++)
        ABT_thread_yield();
    shot->has_ended = true;
}

static void shot_arm(struct shot *shot, bool is_open)
{
    *shot = (struct shot){.timer.fire = shot_fire};
    atomic_store(&shot->is_open, is_open);
    assert_true(amg_margo_timer_arm(&mid, &shot->timer, 1));
}

/* A loop, reduced to its timers. */
static void loop(void *arg)
{
    (void)arg;
    amg_margo_timers_fire(&mid, 1);
}

/* Disarms the firing timer. */
static void taker(void *arg)
{
    struct shot *shot = arg;

    assert_false(amg_margo_timer_disarm(&mid, &shot->timer));
    assert_true(shot->has_ended);
}

static void start(void (*function)(void *), void *arg, ABT_thread *thread)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    assert_int_equal(ABT_xstream_self(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create_on_xstream(
                         stream, function, arg, ABT_THREAD_ATTR_NULL, thread),
        ABT_SUCCESS);
}

static void begun_wait(const struct shot *shot)
{
    while (!shot->has_begun)
        ABT_thread_yield();
}

static void test_disarm_of_firing_timer_leaves_the_stream_to_its_loop(
    void **state)
{
    struct shot shot;

    (void)state;
    shot_arm(&shot, true);
    start(loop, NULL, &mid.loops[AMG_MARGO_LOOP]);
    begun_wait(&shot);
    taker(&shot);
    assert_int_equal(ABT_thread_free(&mid.loops[AMG_MARGO_LOOP]), ABT_SUCCESS);
}

static void test_disarm_waits_while_the_other_loop_fires_another_one(
    void **state)
{
    ABT_thread thread = ABT_THREAD_NULL;
    struct shot first;
    struct shot second;

    (void)state;
    shot_arm(&first, false);
    start(loop, NULL, &mid.loops[AMG_MARGO_LOOP]);
    begun_wait(&first);
    shot_arm(&second, true);
    start(loop, NULL, &mid.loops[AMG_MARGO_SECOND]);
    start(taker, &first, &thread);
    while (!second.has_ended)
        ABT_thread_yield();
    for (unsigned i = 0; i < TURNS; i++)
        ABT_thread_yield();
    atomic_store(&first.is_open, true);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&mid.loops[AMG_MARGO_LOOP]), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_free(&mid.loops[AMG_MARGO_SECOND]), ABT_SUCCESS);
}

static void test_disarm_by_one_loop_waits_for_the_other(void **state)
{
    struct shot shot;

    (void)state;
    shot_arm(&shot, false);
    start(loop, NULL, &mid.loops[AMG_MARGO_LOOP]);
    begun_wait(&shot);
    start(taker, &shot, &mid.loops[AMG_MARGO_SECOND]);
    for (unsigned i = 0; i < TURNS; i++)
        ABT_thread_yield();
    atomic_store(&shot.is_open, true);
    assert_int_equal(
        ABT_thread_free(&mid.loops[AMG_MARGO_SECOND]), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&mid.loops[AMG_MARGO_LOOP]), ABT_SUCCESS);
}

static margo_timer_t failing;
static unsigned units;
static unsigned calls;
static ABT_unit shelf = ABT_UNIT_NULL;

static void call_count(void *arg)
{
    (void)arg;
    calls++;
}

/* Fails the first time, after the timer was cancelled. */
static ABT_unit unit_create(ABT_pool pool, ABT_thread thread)
{
    (void)pool;
    if (units++ > 0)
        return (ABT_unit)(void *)thread;
    assert_int_equal(margo_timer_cancel(failing), 0);
    return ABT_UNIT_NULL;
}

static void unit_free(ABT_pool pool, ABT_unit unit)
{
    (void)pool;
    (void)unit;
}

static ABT_bool shelf_is_empty(ABT_pool pool)
{
    (void)pool;
    return shelf == ABT_UNIT_NULL ? ABT_TRUE : ABT_FALSE;
}

static ABT_thread shelf_pop(ABT_pool pool, ABT_pool_context context)
{
    ABT_unit unit = shelf;

    (void)pool;
    (void)context;
    shelf = ABT_UNIT_NULL;
    return unit == ABT_UNIT_NULL ? ABT_THREAD_NULL : (ABT_thread)(void *)unit;
}

static void shelf_push(ABT_pool pool, ABT_unit unit, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    shelf = unit;
}

static void loop_later(void *arg)
{
    (void)arg;
    amg_margo_timers_fire(&mid, amg_clock_ns());
}

/* Starts the timer and lets it fire. */
static void failing_fire(void)
{
    assert_int_equal(margo_timer_start(failing, 0), 0);
    start(loop_later, NULL, &mid.loops[AMG_MARGO_LOOP]);
    assert_int_equal(ABT_thread_free(&mid.loops[AMG_MARGO_LOOP]), ABT_SUCCESS);
}

static void test_timer_cancelled_while_its_thread_fails_fires_again(
    void **state)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    assert_int_equal(ABT_pool_user_def_create(unit_create, unit_free,
                         shelf_is_empty, shelf_pop, shelf_push, &def),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_user_def_free(&def), ABT_SUCCESS);
    assert_int_equal(
        margo_timer_create_with_pool(&mid, call_count, NULL, pool, &failing),
        0);
    failing_fire();
    assert_int_equal(units, 1);
    failing_fire();
    assert_int_equal(ABT_pool_pop_thread(pool, &thread), ABT_SUCCESS);
    assert_int_equal(ABT_self_schedule(thread, ABT_POOL_NULL), ABT_SUCCESS);
    assert_int_equal(calls, 1);
    assert_int_equal(margo_timer_destroy(failing), 0);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static int timers_setup(void **state)
{
    (void)state;
    alarm(ALARM_S);
    mid.loops[AMG_MARGO_LOOP] = ABT_THREAD_NULL;
    mid.loops[AMG_MARGO_SECOND] = ABT_THREAD_NULL;
    amg_margo_log_init(&test_log, NULL);
    amg_margo_timers_init(&mid);
    return ABT_init(0, NULL);
}

static int timers_teardown(void **state)
{
    (void)state;
    return ABT_finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_disarm_of_firing_timer_leaves_the_stream_to_its_loop),
        cmocka_unit_test(
            test_disarm_waits_while_the_other_loop_fires_another_one),
        cmocka_unit_test(test_disarm_by_one_loop_waits_for_the_other),
        cmocka_unit_test(
            test_timer_cancelled_while_its_thread_fails_fires_again),
    };

    return cmocka_run_group_tests(tests, timers_setup, timers_teardown);
}
