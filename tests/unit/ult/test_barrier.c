/* SPDX-License-Identifier: BSD-3-Clause */
/* No thread leaves a barrier of either kind before all have arrived, round
 * after round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "abt.h"

enum { THREADS = 4, ROUNDS = 1000 };

static void test_barrier_bad_arguments_change_nothing(void **state)
{
    ABT_barrier none = ABT_BARRIER_NULL;
    ABT_barrier one = ABT_BARRIER_NULL;
    uint32_t count = 0;

    (void)state;
    assert_int_equal(ABT_barrier_create(1, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_barrier_create(0, &one), ABT_ERR_INV_ARG);
    assert_null(one);
    assert_int_equal(ABT_barrier_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_barrier_free(&none), ABT_ERR_INV_BARRIER);
    assert_int_equal(ABT_barrier_wait(none), ABT_ERR_INV_BARRIER);
    assert_int_equal(ABT_barrier_reinit(none, 1), ABT_ERR_INV_BARRIER);
    assert_int_equal(
        ABT_barrier_get_num_waiters(none, &count), ABT_ERR_INV_BARRIER);
    assert_int_equal(ABT_barrier_create(7, &one), ABT_SUCCESS);
    assert_int_equal(ABT_barrier_reinit(one, 0), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_barrier_get_num_waiters(one, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_barrier_get_num_waiters(one, &count), ABT_SUCCESS);
    assert_int_equal(count, 7);
    assert_int_equal(ABT_barrier_reinit(one, 1), ABT_SUCCESS);
    assert_int_equal(ABT_barrier_get_num_waiters(one, &count), ABT_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(ABT_barrier_wait(one), ABT_SUCCESS);
    assert_int_equal(ABT_barrier_free(&one), ABT_SUCCESS);
    assert_null(one);
}

static void test_xstream_barrier_bad_arguments_change_nothing(void **state)
{
    ABT_xstream_barrier none = ABT_XSTREAM_BARRIER_NULL;
    ABT_xstream_barrier one = ABT_XSTREAM_BARRIER_NULL;

    (void)state;
    assert_int_equal(ABT_xstream_barrier_create(1, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_xstream_barrier_create(0, &one), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_xstream_barrier_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_xstream_barrier_free(&none), ABT_ERR_INV_XSTREAM_BARRIER);
    assert_int_equal(
        ABT_xstream_barrier_wait(none), ABT_ERR_INV_XSTREAM_BARRIER);
    assert_int_equal(ABT_xstream_barrier_create(1, &one), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_barrier_wait(one), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_barrier_free(&one), ABT_SUCCESS);
    assert_null(one);
}

struct meeting {
    ABT_barrier barrier;                 /* NULL: the other kind */
    ABT_xstream_barrier xstream_barrier; /* NULL: the other kind */
    atomic_int come[ROUNDS];
};

static struct meeting meeting;

static int meeting_wait(void)
{
    return meeting.barrier != ABT_BARRIER_NULL
               ? ABT_barrier_wait(meeting.barrier)
               : ABT_xstream_barrier_wait(meeting.xstream_barrier);
}

static void *meet(void *arg)
{
    uintptr_t failures = 0;

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&meeting.come[i], 1);
        failures += meeting_wait() != ABT_SUCCESS;
        failures += atomic_load(&meeting.come[i]) != THREADS;
    }
    return (void *)failures;
}

static void meet_all(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < ROUNDS; i++)
        atomic_store(&meeting.come[i], 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, meet, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures = NULL;

        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
}

static void test_barrier_all_meet(void **state)
{
    (void)state;
    assert_int_equal(
        ABT_barrier_create(THREADS, &meeting.barrier), ABT_SUCCESS);
    meet_all();
    assert_int_equal(ABT_barrier_free(&meeting.barrier), ABT_SUCCESS);
}

static void test_xstream_barrier_all_meet(void **state)
{
    (void)state;
    assert_int_equal(
        ABT_xstream_barrier_create(THREADS, &meeting.xstream_barrier),
        ABT_SUCCESS);
    meet_all();
    assert_int_equal(
        ABT_xstream_barrier_free(&meeting.xstream_barrier), ABT_SUCCESS);
}

static void *come(void *arg)
{
    return ABT_barrier_wait(arg) == ABT_SUCCESS ? arg : NULL;
}

static void test_barrier_in_use_is_kept(void **state)
{
    ABT_barrier barrier = ABT_BARRIER_NULL;
    ABT_barrier kept = ABT_BARRIER_NULL;
    pthread_t thread;
    void *back = NULL;

    (void)state;
    assert_int_equal(ABT_barrier_create(2, &barrier), ABT_SUCCESS);
    kept = barrier;
    assert_int_equal(pthread_create(&thread, NULL, come, barrier), 0);
    while (ABT_barrier_reinit(barrier, 2) == ABT_SUCCESS)
        sched_yield(); /* it has not arrived yet */
    assert_int_equal(ABT_barrier_reinit(barrier, 3), ABT_ERR_BARRIER);
    assert_int_equal(ABT_barrier_free(&barrier), ABT_ERR_BARRIER);
    assert_ptr_equal(barrier, kept);
    assert_int_equal(ABT_barrier_wait(barrier), ABT_SUCCESS);
    assert_int_equal(ABT_barrier_free(&barrier), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, &back), 0);
    assert_ptr_equal(back, kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_bad_arguments_change_nothing),
        cmocka_unit_test(test_xstream_barrier_bad_arguments_change_nothing),
        cmocka_unit_test(test_barrier_all_meet),
        cmocka_unit_test(test_xstream_barrier_all_meet),
        cmocka_unit_test(test_barrier_in_use_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
