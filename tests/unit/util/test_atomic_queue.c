/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue keeps its order, reports full and empty, and neither loses nor
 * doubles an entry while threads push and pop concurrently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/mem.h"
#include "mercury_atomic_queue.h"

enum { PUSHERS = 2, POPPERS = 2, EACH = 20000, ENTRIES = PUSHERS * EACH };

static struct hg_atomic_queue *queue_shared;
static hg_atomic_int32_t queue_seen[ENTRIES];
static hg_atomic_int32_t queue_popped;

static void *entry_of(uintptr_t number)
{
    return (void *)(number + 1);
}

static void test_queue_is_first_in_first_out(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= 8; count *= 2) {
        struct hg_atomic_queue *queue = hg_atomic_queue_alloc(count);

        assert_non_null(queue);
        for (unsigned round = 0; round < 3; round++) {
            assert_true(hg_atomic_queue_is_empty(queue));
            assert_null(hg_atomic_queue_pop_mc(queue));
            assert_null(hg_atomic_queue_pop_sc(queue));
            for (unsigned i = 0; i < count; i++) {
                assert_int_equal(
                    hg_atomic_queue_push(queue, entry_of(i)), HG_UTIL_SUCCESS);
                assert_int_equal(hg_atomic_queue_count(queue), i + 1);
            }
            assert_int_equal(
                hg_atomic_queue_push(queue, entry_of(99)), HG_UTIL_FAIL);
            assert_false(hg_atomic_queue_is_empty(queue));
            for (unsigned i = 0; i < count; i++)
                assert_ptr_equal(i % 2 == 0 ? hg_atomic_queue_pop_mc(queue)
                                            : hg_atomic_queue_pop_sc(queue),
                    entry_of(i));
        }
        hg_atomic_queue_free(queue);
    }
}

static void test_queue_refuses_other_counts(void **state)
{
    (void)state;
    assert_null(hg_atomic_queue_alloc(0));
    assert_null(hg_atomic_queue_alloc(12));
    hg_atomic_queue_free(NULL);
}

static void test_queue_no_memory_leaves_nothing(void **state)
{
    struct amg_mem_stats before, after;

    (void)state;
    amg_mem_stats_get(&before);
    for (unsigned n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_null(hg_atomic_queue_alloc(16));
    }
    amg_mem_fail_nth(0);
    amg_mem_stats_get(&after);
    assert_int_equal(after.live, before.live);
}

static void *entries_push(void *arg)
{
    uintptr_t first = (uintptr_t)arg * EACH;

    for (uintptr_t i = 0; i < EACH; i++) {
        while (hg_atomic_queue_push(queue_shared, entry_of(first + i)) !=
               HG_UTIL_SUCCESS)
            sched_yield();
    }
    return NULL;
}

static void *entries_pop(void *arg)
{
    (void)arg;
    while (hg_atomic_get32(&queue_popped) < ENTRIES) {
        void *entry = hg_atomic_queue_pop_mc(queue_shared);

        if (entry == NULL) {
            sched_yield();
            continue;
        }
        hg_atomic_incr32(&queue_seen[(uintptr_t)entry - 1]);
        hg_atomic_incr32(&queue_popped);
    }
    return NULL;
}

static void test_queue_threads_lose_and_duplicate_nothing(void **state)
{
    pthread_t threads[PUSHERS + POPPERS];

    (void)state;
    queue_shared = hg_atomic_queue_alloc(32);
    for (uintptr_t i = 0; i < PUSHERS + POPPERS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL,
                i < PUSHERS ? entries_push : entries_pop, (void *)i),
            0);
    for (unsigned i = 0; i < PUSHERS + POPPERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_int_equal(hg_atomic_get32(&queue_seen[i]), 1);
    assert_true(hg_atomic_queue_is_empty(queue_shared));
    hg_atomic_queue_free(queue_shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_is_first_in_first_out),
        cmocka_unit_test(test_queue_refuses_other_counts),
        cmocka_unit_test(test_queue_no_memory_leaves_nothing),
        cmocka_unit_test(test_queue_threads_lose_and_duplicate_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
