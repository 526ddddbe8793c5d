/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that drops the last reference is told so, and no other, also where
 * another thread drops its reference at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "base/refcount.h"

enum { SPARE = 1 << 16, ROUNDS = 2000 };

static atomic_int refs;
static atomic_int spare;
static atomic_int
    ends; /* times that somebody was told to have dropped the last one */

/* A new object in the same memory. */
static void object_make(int held)
{
    amg_refs_set(&refs, held + SPARE);
    amg_refs_set(&spare, SPARE);
}

static void drop_one(void)
{
    if (!amg_refs_unref(&refs, 1, &spare))
        return;
    ends++;
    object_make(1);
}

static void test_refs_last_is_told_beside_spare_ones(void **state)
{
    (void)state;
    object_make(2);
    assert_true(amg_refs_take_spare(&spare));
    assert_false(amg_refs_unref(&refs, 1, &spare));
    assert_false(amg_refs_unref(&refs, 1, &spare));
    assert_true(amg_refs_unref(&refs, 1, &spare));
    assert_int_equal(amg_refs_get(&refs), 0);
}

static void test_refs_without_spare_end_at_zero(void **state)
{
    (void)state;
    amg_refs_set(&refs, 3);
    assert_false(amg_refs_unref(&refs, 2, NULL));
    assert_true(amg_refs_unref(&refs, 1, NULL));
    assert_int_equal(amg_refs_get(&refs), 0);
}

/* While a thread drops its reference, the holder of the other one, of an
 * operation, drops that: the object may end, and be made anew. */
static void other_drops(const char *name)
{
    (void)name;
    amg_test_point_set(NULL);
    drop_one();
}

static void test_refs_two_threads_drop_then_one_ends_the_object(void **state)
{
    (void)state;
#if !defined(AMG_TEST_POINTS)
    skip();
#endif
    ends = 0;
    object_make(1);
    assert_true(amg_refs_take_spare(&spare));
    amg_test_point_set(other_drops);
    drop_one();
    assert_int_equal(ends, 1);
    assert_int_equal(amg_refs_get(&refs), 1 + SPARE);
}

static pthread_barrier_t round_begins;

static void *rounds_drop(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&round_begins);
        if (amg_refs_unref(&refs, 1, &spare))
            atomic_fetch_add(&ends, 1);
        pthread_barrier_wait(&round_begins);
        if (arg == NULL)
            object_make(2);
    }
    return NULL;
}

static void test_refs_each_object_of_two_threads_ends_once(void **state)
{
    static char other;
    pthread_t thread;

    (void)state;
    ends = 0;
    object_make(2);
    assert_int_equal(pthread_barrier_init(&round_begins, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, rounds_drop, &other), 0);
    rounds_drop(NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&round_begins);
    assert_int_equal(ends, ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refs_last_is_told_beside_spare_ones),
        cmocka_unit_test(test_refs_without_spare_end_at_zero),
        cmocka_unit_test(test_refs_two_threads_drop_then_one_ends_the_object),
        cmocka_unit_test(test_refs_each_object_of_two_threads_ends_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
