/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined pools of either form get all operations, and the unit of a
 * thread is freed with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "abt.h"
#include "ult/ready_pool.h"
#include "unit/ult/begun.h"

enum { FEW = 4, MANY = 64 };

static int ran;

static void count_one(void *arg)
{
    (void)arg;
    ran++;
}

/* Creates threads in a pool that no stream runs. */
static void few_create(ABT_pool pool, ABT_thread *ret_threads)
{
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_create(pool, count_one, NULL,
                             ABT_THREAD_ATTR_NULL, &ret_threads[i]),
            ABT_SUCCESS);
}

/* A user-defined pool: last in, first out. */
struct shelf {
    void *items[MANY];
    size_t count;
    int units;
};

static struct shelf shelf;

static ABT_unit shelf_unit_create(ABT_pool pool, ABT_thread thread)
{
    ABT_thread *unit = malloc(sizeof(*unit));

    (void)pool;
    if (unit == NULL)
        return ABT_UNIT_NULL;
    *unit = thread;
    shelf.units++;
    return (ABT_unit)(void *)unit;
}

static void shelf_unit_free(ABT_pool pool, ABT_unit unit)
{
    (void)pool;
    shelf.units--;
    free(unit);
}

static ABT_bool shelf_is_empty(ABT_pool pool)
{
    (void)pool;
    return shelf.count == 0 ? ABT_TRUE : ABT_FALSE;
}

static ABT_thread shelf_pop(ABT_pool pool, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    return shelf.count == 0 ? ABT_THREAD_NULL
                            : *(ABT_thread *)shelf.items[--shelf.count];
}

static ABT_pool_context pushed_for;

static void shelf_push(ABT_pool pool, ABT_unit unit, ABT_pool_context context)
{
    (void)pool;
    pushed_for |= context;
    shelf.items[shelf.count++] = unit;
}

static ABT_unit old_unit_create(ABT_thread thread)
{
    return shelf_unit_create(ABT_POOL_NULL, thread);
}

static void old_unit_free(ABT_unit *unit)
{
    shelf_unit_free(ABT_POOL_NULL, *unit);
    *unit = ABT_UNIT_NULL;
}

static void old_push(ABT_pool pool, ABT_unit unit)
{
    shelf_push(pool, unit, 0);
}

static ABT_unit old_pop(ABT_pool pool)
{
    (void)pool;
    return shelf.count == 0 ? ABT_UNIT_NULL
                            : (ABT_unit)shelf.items[--shelf.count];
}

static size_t old_size(ABT_pool pool)
{
    (void)pool;
    return shelf.count;
}

/* A stream runs the pool, and all its functions are the program's. */
static void users_pool_run(ABT_pool pool)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread threads[FEW];
    ABT_thread first = ABT_THREAD_NULL;
    ABT_unit unit = ABT_UNIT_NULL;
    size_t size = 0;

    shelf.count = 0;
    ran = 0;
    few_create(pool, threads);
    assert_int_equal(shelf.units, FEW);
    assert_int_equal(ABT_pool_get_size(pool, &size), ABT_SUCCESS);
    assert_int_equal(size, FEW);
    assert_int_equal(ABT_pool_pop(pool, &unit), ABT_SUCCESS);
    assert_int_equal(ABT_unit_get_thread(unit, &first), ABT_SUCCESS);
    assert_ptr_equal(first, threads[FEW - 1]);
    assert_int_equal(ABT_pool_push(pool, unit), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool,
                         ABT_SCHED_CONFIG_NULL, &stream),
        ABT_SUCCESS);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    assert_int_equal(ran, FEW);
    assert_int_equal(shelf.units, 0);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_of_the_program_is_run(void **state)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    (void)state;
    assert_int_equal(
        ABT_pool_user_def_create(shelf_unit_create, shelf_unit_free,
            shelf_is_empty, shelf_pop, NULL, &def),
        ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_pool_user_def_create(shelf_unit_create, shelf_unit_free,
            shelf_is_empty, shelf_pop, shelf_push, &def),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_user_def_free(&def), ABT_SUCCESS);
    pushed_for = 0;
    users_pool_run(pool);
    assert_true(pushed_for == (ABT_POOL_CONTEXT_OP_THREAD_CREATE |
                                  ABT_POOL_CONTEXT_OP_POOL_OTHER));
}

/* Returns more than can be popped. */
static size_t larger = MANY;

static size_t larger_size(ABT_pool pool)
{
    (void)pool;
    return larger;
}

static void test_ready_pool_of_the_program_says_whether_it_is_empty(
    void **state)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_bool is_empty = ABT_FALSE;

    (void)state;
    shelf.count = 0;
    assert_int_equal(
        ABT_pool_user_def_create(shelf_unit_create, shelf_unit_free,
            shelf_is_empty, shelf_pop, shelf_push, &def),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_user_def_set_get_size(def, larger_size), ABT_SUCCESS);
    assert_int_equal(
        ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_is_empty(pool, &is_empty), ABT_SUCCESS);
    assert_int_equal(is_empty, ABT_TRUE);
    assert_int_equal(ABT_pool_user_def_free(&def), ABT_SUCCESS);
    larger = 0;
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_flag_of_another_type_does_not_count(void **state)
{
    ABT_pool_def def = {.access = ABT_POOL_ACCESS_MPMC,
        .u_create_from_thread = old_unit_create,
        .u_free = old_unit_free,
        .p_push = old_push,
        .p_pop = old_pop};
    ABT_pool_config config = ABT_POOL_CONFIG_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    void *pointer = &def;

    (void)state;
    assert_int_equal(ABT_pool_config_create(&config), ABT_SUCCESS);
    assert_int_equal(ABT_pool_config_set(config, ABT_pool_config_automatic.key,
                         ABT_POOL_CONFIG_PTR, &pointer),
        ABT_SUCCESS);
    assert_int_equal(ABT_pool_create(&def, config, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_config_free(&config), ABT_SUCCESS);
    assert_false(amg_ready_pool_of(pool)->is_automatic);
    assert_int_equal(ABT_pool_free(&pool), ABT_SUCCESS);
}

static void test_ready_pool_of_the_older_form_is_run(void **state)
{
    ABT_pool_def def = {.access = ABT_POOL_ACCESS_MPMC,
        .u_create_from_thread = old_unit_create,
        .p_push = old_push,
        .p_pop = old_pop,
        .p_get_size = old_size};
    ABT_pool pool = ABT_POOL_NULL;

    (void)state;
    assert_int_equal(ABT_pool_create(&def, ABT_POOL_CONFIG_NULL, &pool),
        ABT_ERR_INV_POOL_USER_DEF);
    def.u_free = old_unit_free;
    assert_int_equal(
        ABT_pool_create(&def, ABT_POOL_CONFIG_NULL, &pool), ABT_SUCCESS);
    users_pool_run(pool);
}

/* A unit is the handle of its thread. */
static ABT_unit same_unit_create(ABT_pool pool, ABT_thread thread)
{
    (void)pool;
    return (ABT_unit)(void *)thread;
}

static void same_unit_free(ABT_pool pool, ABT_unit unit)
{
    (void)pool;
    (void)unit;
}

static ABT_thread same_pop(ABT_pool pool, ABT_pool_context context)
{
    (void)pool;
    (void)context;
    return shelf.count == 0 ? ABT_THREAD_NULL
                            : (ABT_thread)shelf.items[--shelf.count];
}

static void test_ready_pools_of_the_program_share_a_unit(void **state)
{
    ABT_pool_user_def def = ABT_POOL_USER_DEF_NULL;
    ABT_pool pools[2] = {ABT_POOL_NULL, ABT_POOL_NULL};
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread found = ABT_THREAD_NULL;
    ABT_unit unit = ABT_UNIT_NULL;

    (void)state;
    shelf.count = 0;
    ran = 0;
    assert_int_equal(ABT_pool_user_def_create(same_unit_create, same_unit_free,
                         shelf_is_empty, same_pop, shelf_push, &def),
        ABT_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            ABT_pool_create(def, ABT_POOL_CONFIG_NULL, &pools[i]), ABT_SUCCESS);
    assert_int_equal(ABT_pool_user_def_free(&def), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create(pools[0], count_one, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_pool_pop_thread(pools[0], &found), ABT_SUCCESS);
    assert_int_equal(ABT_pool_push_thread(pools[1], found), ABT_SUCCESS);
    assert_int_equal(ABT_pool_pop(pools[1], &unit), ABT_SUCCESS);
    assert_int_equal(ABT_unit_get_thread(unit, &found), ABT_SUCCESS);
    assert_ptr_equal(found, thread);
    assert_int_equal(ABT_pool_push(pools[1], unit), ABT_SUCCESS);
    assert_int_equal(ABT_pool_pop_thread(pools[1], &found), ABT_SUCCESS);
    assert_int_equal(ABT_self_schedule(found, ABT_POOL_NULL), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ran, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ABT_pool_free(&pools[i]), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready_pool_of_the_program_is_run),
        cmocka_unit_test(test_ready_pool_of_the_older_form_is_run),
        cmocka_unit_test(test_ready_pools_of_the_program_share_a_unit),
        cmocka_unit_test(test_ready_pool_flag_of_another_type_does_not_count),
        cmocka_unit_test(
            test_ready_pool_of_the_program_says_whether_it_is_empty),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
