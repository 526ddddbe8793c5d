/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool runs all posted work in order, including work posted by its work,
 * before it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "mercury_atomic.h"
#include "mercury_thread_pool.h"

enum { WORKS = 500 };

static hg_thread_pool_t *pool;
static struct hg_thread_work pool_works[WORKS];
static hg_atomic_int32_t pool_ran[WORKS];
static hg_atomic_int32_t pool_order;

static hg_thread_ret_t work_count(void *arg)
{
    hg_atomic_incr32(&pool_ran[(uintptr_t)arg]);
    return NULL;
}

/* Counts, if all earlier work has run. */
static hg_thread_ret_t work_in_order(void *arg)
{
    if (hg_atomic_get32(&pool_order) == (int32_t)(uintptr_t)arg)
        hg_atomic_incr32(&pool_order);
    return NULL;
}

/* Posts its successor. */
static hg_thread_ret_t work_chain(void *arg)
{
    uintptr_t next = (uintptr_t)arg + 1;

    hg_atomic_incr32(&pool_ran[(uintptr_t)arg]);
    if (next < WORKS) {
        pool_works[next].func = work_chain;
        pool_works[next].args = (void *)next;
        hg_thread_pool_post(pool, &pool_works[next]);
    }
    return NULL;
}

static void works_post(unsigned threads, hg_thread_func_t func, uintptr_t count)
{
    for (unsigned i = 0; i < WORKS; i++)
        hg_atomic_set32(&pool_ran[i], 0);
    assert_int_equal(hg_thread_pool_init(threads, &pool), HG_UTIL_SUCCESS);
    for (uintptr_t i = 0; i < count; i++) {
        pool_works[i].func = func;
        pool_works[i].args = (void *)i;
        assert_int_equal(
            hg_thread_pool_post(pool, &pool_works[i]), HG_UTIL_SUCCESS);
    }
    assert_int_equal(hg_thread_pool_destroy(pool), HG_UTIL_SUCCESS);
}

static void test_thread_pool_runs_all_work_once(void **state)
{
    (void)state;
    works_post(3, work_count, WORKS);
    for (unsigned i = 0; i < WORKS; i++)
        assert_int_equal(hg_atomic_get32(&pool_ran[i]), 1);
}

static void test_thread_pool_of_one_keeps_order(void **state)
{
    (void)state;
    works_post(1, work_in_order, WORKS);
    assert_int_equal(hg_atomic_get32(&pool_order), WORKS);
}

static void test_thread_pool_runs_what_its_work_posts(void **state)
{
    (void)state;
    works_post(2, work_chain, 1);
    for (unsigned i = 0; i < WORKS; i++)
        assert_int_equal(hg_atomic_get32(&pool_ran[i]), 1);
}

static void test_thread_pool_without_work_ends(void **state)
{
    (void)state;
    works_post(2, work_count, 0);
    assert_int_equal(hg_atomic_get32(&pool_ran[0]), 0);
}

static void test_thread_pool_misuse_is_answered(void **state)
{
    struct hg_thread_work work = {.func = NULL};
    struct amg_mem_stats before, after;

    (void)state;
    amg_mem_stats_get(&before);
    assert_int_equal(hg_thread_pool_init(0, &pool), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_pool_init(1, NULL), HG_UTIL_FAIL);
    amg_mem_fail_nth(1);
    assert_int_equal(hg_thread_pool_init(1, &pool), HG_UTIL_FAIL);
    amg_mem_fail_nth(0);
    assert_int_equal(hg_thread_pool_destroy(NULL), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_pool_init(1, &pool), HG_UTIL_SUCCESS);
    assert_int_equal(hg_thread_pool_post(NULL, &work), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_pool_post(pool, NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_pool_post(pool, &work), HG_UTIL_FAIL);
    assert_int_equal(hg_thread_pool_destroy(pool), HG_UTIL_SUCCESS);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_pool_runs_all_work_once),
        cmocka_unit_test(test_thread_pool_of_one_keeps_order),
        cmocka_unit_test(test_thread_pool_runs_what_its_work_posts),
        cmocka_unit_test(test_thread_pool_without_work_ends),
        cmocka_unit_test(test_thread_pool_misuse_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
