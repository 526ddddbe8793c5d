/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads start, end, keep thread-local data, and stay on their cores. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "mercury_atomic.h"
#include "mercury_thread.h"

static hg_thread_key_t thread_key;
static hg_atomic_int32_t thread_ran;

static HG_THREAD_RETURN_TYPE thread_body(void *arg)
{
    bool is_other = !hg_thread_equal(*(hg_thread_t *)arg, hg_thread_self());
    bool was_null = hg_thread_getspecific(thread_key) == NULL;

    hg_thread_setspecific(thread_key, arg);
    if (is_other && was_null && hg_thread_getspecific(thread_key) == arg)
        hg_atomic_incr32(&thread_ran);
    hg_thread_exit((hg_thread_ret_t)0);
    return (hg_thread_ret_t)0;
}

static void test_thread_runs_with_data_of_its_own(void **state)
{
    hg_thread_t self = hg_thread_self(), thread;
    int mine = 0;

    (void)state;
    hg_thread_init(&thread);
    assert_int_equal(hg_thread_key_create(&thread_key), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_setspecific(thread_key, &mine), HG_UTIL_SUCCESS);
    assert_int_equal(
        hg_thread_create(&thread, thread_body, &self), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_yield(), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_join(thread), HG_UTIL_SUCCESS);
    assert_int_equal(hg_atomic_get32(&thread_ran), 1);
    assert_ptr_equal(hg_thread_getspecific(thread_key), &mine);
    assert_true(hg_thread_equal(self, hg_thread_self()));
    assert_int_equal(hg_thread_key_delete(thread_key), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_key_delete(thread_key), HG_UTIL_FAIL);
}

static hg_thread_ret_t thread_wait_for_cancel(void *arg)
{
    (void)arg;
    for (;;)
        pthread_testcancel();
    return NULL;
}

static void test_thread_cancel_ends_it(void **state)
{
    hg_thread_t thread;

    (void)state;
    assert_int_equal(hg_thread_create(&thread, thread_wait_for_cancel, NULL),
        HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_cancel(thread), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_join(thread), HG_UTIL_SUCCESS);
}

static void test_thread_affinity_is_kept(void **state)
{
    hg_cpu_set_t before, one, now;
    int core = 0;

    (void)state;
    CPU_ZERO(&before);
    assert_int_equal(
        hg_thread_getaffinity(hg_thread_self(), &before), HG_UTIL_SUCCESS);
    assert_true(CPU_COUNT(&before) > 0);
    while (!CPU_ISSET(core, &before))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(
        hg_thread_setaffinity(hg_thread_self(), &one), HG_UTIL_SUCCESS);
    assert_int_equal(
        hg_thread_getaffinity(hg_thread_self(), &now), HG_UTIL_SUCCESS);
    assert_true(CPU_EQUAL(&one, &now));
    CPU_ZERO(&one);
    assert_int_equal(
        hg_thread_setaffinity(hg_thread_self(), &one), HG_UTIL_FAIL);
    assert_int_equal(
        hg_thread_setaffinity(hg_thread_self(), &before), HG_UTIL_SUCCESS);
}

static void test_thread_misuse_is_answered(void **state)
{
    hg_thread_t thread;

    (void)state;
    hg_thread_init(NULL);
    assert_int_equal(hg_thread_create(NULL, thread_body, NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_create(&thread, NULL, NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_join(hg_thread_self()), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_key_create(NULL), HG_UTIL_FAIL);
    assert_int_equal(
        hg_thread_getaffinity(hg_thread_self(), NULL), HG_UTIL_FAIL);
    assert_int_equal(
        hg_thread_setaffinity(hg_thread_self(), NULL), HG_UTIL_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_runs_with_data_of_its_own),
        cmocka_unit_test(test_thread_cancel_ends_it),
        cmocka_unit_test(test_thread_affinity_is_kept),
        cmocka_unit_test(test_thread_misuse_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
