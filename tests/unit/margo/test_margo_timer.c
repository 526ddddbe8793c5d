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
#include "margo/instance.h"
#include "margo/request.h"

enum { ALARM_S = 20, TURNS = 5 };

static struct amg_margo_timers timers;
static struct margo_instance mid = {.timers = &timers};

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

static int timers_setup(void **state)
{
    (void)state;
    alarm(ALARM_S);
    mid.loops[AMG_MARGO_LOOP] = ABT_THREAD_NULL;
    mid.loops[AMG_MARGO_SECOND] = ABT_THREAD_NULL;
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
    };

    return cmocka_run_group_tests(tests, timers_setup, timers_teardown);
}
