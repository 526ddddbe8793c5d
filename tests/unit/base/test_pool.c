/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool reuses its objects, and allocates only to grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/pool.h"

enum { OBJECT_LEN = 100, ALIGN = 64, COUNT = 8 };

static uint64_t calls_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.calls;
}

static uint64_t live_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.live;
}

static void test_pool_get_is_zero_and_aligned(void **state)
{
    struct amg_pool pool;
    unsigned char *object = NULL;

    (void)state;
    amg_pool_init(&pool, OBJECT_LEN, ALIGN);
    object = amg_pool_get(&pool);
    assert_non_null(object);
    assert_int_equal((uintptr_t)object % ALIGN, 0);
    for (int i = 0; i < OBJECT_LEN; i++)
        assert_int_equal(object[i], 0);
    amg_pool_put(&pool, object);
    amg_pool_fini(&pool);
}

static void test_pool_put_then_get_is_same(void **state)
{
    struct amg_pool pool;
    unsigned char *object = NULL;

    (void)state;
    amg_pool_init(&pool, OBJECT_LEN, ALIGN);
    object = amg_pool_get(&pool);
    object[OBJECT_LEN - 1] = 42;
    amg_pool_put(&pool, object);
    assert_ptr_equal(amg_pool_get(&pool), object);
    assert_int_equal(object[OBJECT_LEN - 1], 42);
    amg_pool_put(&pool, object);
    amg_pool_fini(&pool);
}

static void test_pool_fill_then_get_allocates_nothing(void **state)
{
    struct amg_pool pool;
    void *objects[COUNT];
    uint64_t calls = 0;
    uint64_t live = live_now();

    (void)state;
    amg_pool_init(&pool, OBJECT_LEN, ALIGN);
    assert_int_equal(amg_pool_fill(&pool, COUNT), COUNT);
    calls = calls_now();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            assert_non_null(objects[i] = amg_pool_get(&pool));
        for (int i = 0; i < COUNT; i++)
            amg_pool_put(&pool, objects[i]);
    }
    assert_int_equal(calls_now(), calls);
    amg_pool_fini(&pool);
    assert_int_equal(live_now(), live);
}

static void test_pool_get_without_memory_returns_null(void **state)
{
    struct amg_pool pool;
    void *object = NULL;

    (void)state;
    amg_pool_init(&pool, OBJECT_LEN, ALIGN);
    amg_mem_fail_nth(1);
    assert_null(amg_pool_get(&pool));
    object = amg_pool_get(&pool);
    assert_non_null(object);
    amg_pool_put(&pool, object);
    amg_mem_fail_nth(3);
    assert_int_equal(amg_pool_fill(&pool, COUNT), 2);
    amg_mem_fail_nth(0);
    amg_pool_fini(&pool);
}

/* Notes objects in the order of the visit. */
struct seen {
    void *objects[COUNT + 1];
    int count;
};

static void seen_add(void *object, void *arg)
{
    struct seen *seen = arg;

    assert_true(seen->count < COUNT);
    seen->objects[seen->count++] = object;
}

static void test_pool_visit_sees_used_and_unused_objects_once(void **state)
{
    static struct amg_attic attic;
    struct amg_pool pools[2];
    void *objects[COUNT];

    (void)state;
    amg_pool_init(&pools[0], OBJECT_LEN, ALIGN);
    amg_pool_init_kept(&pools[1], OBJECT_LEN - 1, ALIGN, &attic);
    for (int round = 0; round < 2; round++) {
        struct seen seen = {.count = 0};

        for (int i = 0; i < COUNT; i++)
            assert_non_null(objects[i] = amg_pool_get(&pools[round]));
        for (int i = 0; i < COUNT; i += 2)
            amg_pool_put(&pools[round], objects[i]);
        amg_pool_visit(&pools[round], seen_add, &seen);
        assert_int_equal(seen.count, COUNT);
        for (int i = 0; i < COUNT; i++)
            assert_ptr_equal(seen.objects[i], objects[COUNT - 1 - i]);
        for (int i = 1; i < COUNT; i += 2)
            amg_pool_put(&pools[round], objects[i]);
        amg_pool_fini(&pools[round]);
        seen.count = 0;
        amg_pool_visit(&pools[round], seen_add, &seen);
        assert_int_equal(seen.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_get_is_zero_and_aligned),
        cmocka_unit_test(test_pool_put_then_get_is_same),
        cmocka_unit_test(test_pool_fill_then_get_allocates_nothing),
        cmocka_unit_test(test_pool_get_without_memory_returns_null),
        cmocka_unit_test(test_pool_visit_sees_used_and_unused_objects_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
