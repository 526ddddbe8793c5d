/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime can be initialized and finalized repeatedly, and each only as a
 * whole. */
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
#include "base/log.h"
#include "base/mem.h"
#include "log_kept.h"

enum { STEPS = 3, NTH = 30 };

static void *stranger_finalize(void *arg)
{
    *(int *)arg = ABT_finalize();
    return NULL;
}

static void test_runtime_nests_and_comes_again(void **state)
{
    pthread_t stranger;
    int rc = ABT_SUCCESS;

    (void)state;
    assert_int_equal(ABT_finalize(), ABT_ERR_UNINITIALIZED);
    assert_int_equal(ABT_initialized(), ABT_ERR_UNINITIALIZED);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
        assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
        assert_int_equal(ABT_finalize(), ABT_SUCCESS);
        assert_int_equal(ABT_initialized(), ABT_SUCCESS);
        assert_int_equal(
            pthread_create(&stranger, NULL, stranger_finalize, &rc), 0);
        assert_int_equal(pthread_join(stranger, NULL), 0);
        assert_int_equal(rc, ABT_ERR_INV_XSTREAM);
        assert_int_equal(ABT_finalize(), ABT_SUCCESS);
        assert_int_equal(ABT_initialized(), ABT_ERR_UNINITIALIZED);
    }
}

/* Any allocation fails: an error, and nothing leaks. */
static void test_runtime_without_memory_is_not_begun(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    int failed = 0;

    (void)state;
    amg_mem_stats_get(&before);
    for (int n = 1; n <= NTH; n++) {
        int rc = ABT_SUCCESS;

        amg_mem_fail_nth((uint64_t)n);
        rc = ABT_init(0, NULL);
        amg_mem_fail_nth(0);
        failed += rc != ABT_SUCCESS;
        if (rc == ABT_SUCCESS)
            assert_int_equal(ABT_finalize(), ABT_SUCCESS);
        assert_int_equal(ABT_initialized(), ABT_ERR_UNINITIALIZED);
    }
    amg_mem_stats_get(&after);
    assert_true(failed > STEPS && failed < NTH);
    assert_int_equal(after.live, before.live);
}

static atomic_bool is_closing;
static atomic_bool has_come;

/* The last finalize continues once another thread initializes the runtime,
 * whether that waits or returns. */
static void closing_hook(const char *name)
{
    if (strcmp(name, "runtime.waits") == 0)
        atomic_store(&has_come, true);
    if (strcmp(name, "runtime.closes") != 0)
        return;
    atomic_store(&is_closing, true);
    while (!atomic_load(&has_come))
        sched_yield();
}

static void *successor(void *arg)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    int *rc = arg;

    while (!atomic_load(&is_closing))
        sched_yield();
    *rc = ABT_init(0, NULL);
    amg_test_point_set(NULL);
    atomic_store(&has_come, true);
    if (*rc == ABT_SUCCESS)
        *rc = ABT_xstream_self(&stream);
    if (*rc == ABT_SUCCESS)
        *rc = ABT_finalize();
    return NULL;
}

static void test_runtime_that_ends_is_begun_anew(void **state)
{
    pthread_t thread;
    int rc = ABT_ERR_OTHER;

    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
    amg_test_point_set(closing_hook);
    assert_int_equal(pthread_create(&thread, NULL, successor, &rc), 0);
    assert_int_equal(ABT_finalize(), ABT_SUCCESS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rc, ABT_SUCCESS);
    assert_int_equal(ABT_initialized(), ABT_ERR_UNINITIALIZED);
}

static int late_rc;

/* Runs when main() is a plain OS thread again, before the runtime has ended. */
static void closed_hook(const char *name)
{
    if (strcmp(name, "runtime.closed") != 0)
        return;
    amg_test_point_set(NULL);
    hg_log_set_func(log_keep);
    late_rc = ABT_finalize();
    hg_log_set_func(NULL);
}

static void test_runtime_finalized_while_it_ends_ends_once(void **state)
{
    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
    amg_test_point_set(closed_hook);
    assert_int_equal(ABT_finalize(), ABT_SUCCESS);
    assert_int_equal(late_rc, ABT_ERR_INV_XSTREAM);
    assert_true(log_has("by an OS thread that belongs to no stream"));
    assert_int_equal(ABT_initialized(), ABT_ERR_UNINITIALIZED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runtime_nests_and_comes_again),
        cmocka_unit_test(test_runtime_without_memory_is_not_begun),
        cmocka_unit_test(test_runtime_that_ends_is_begun_anew),
        cmocka_unit_test(test_runtime_finalized_while_it_ends_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
