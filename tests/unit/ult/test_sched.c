/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers pop from their pools in the order of their kind, user-defined ones
 * run, and each ends on request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "abt.h"
#include "ult/sched.h"
#include "unit/ult/begun.h"

enum { POOLS = 3, ROUNDS = 100 };

static atomic_int ran;

static void count_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&ran, 1);
}

static ABT_thread thread_in(ABT_pool pool)
{
    ABT_thread thread = ABT_THREAD_NULL;

    assert_int_equal(
        ABT_thread_create(pool, count_one, NULL, ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    return thread;
}

static struct amg_sched *sched_of(ABT_sched sched)
{
    return (struct amg_sched *)(void *)sched;
}

static ABT_sched sched_create(ABT_sched_predef kind, ABT_pool *ret_pools)
{
    ABT_sched sched = ABT_SCHED_NULL;
    int count = 0;

    assert_int_equal(ABT_sched_create_basic(
                         kind, POOLS, NULL, ABT_SCHED_CONFIG_NULL, &sched),
        ABT_SUCCESS);
    assert_int_equal(ABT_sched_get_num_pools(sched, &count), ABT_SUCCESS);
    assert_int_equal(count, POOLS);
    assert_int_equal(
        ABT_sched_get_pools(sched, POOLS, 0, ret_pools), ABT_SUCCESS);
    return sched;
}

/* Popped threads run on the caller's stream. */
static void thread_end(ABT_thread thread)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_get_main_pools(self, 1, &pool), ABT_SUCCESS);
    assert_int_equal(ABT_pool_push_thread(pool, thread), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
}

static void test_sched_basic_serves_each_pool_in_turn(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_BASIC, pools);
    ABT_thread yielder = thread_in(pools[0]);
    ABT_thread other = thread_in(pools[POOLS - 1]);
    bool has_other = false;

    (void)state;
    /* A thread that yields for ever in the first pool. */
    for (int i = 0; i < POOLS && !has_other; i++) {
        ABT_thread next = amg_ult_handle(amg_sched_pop(sched_of(sched)));

        has_other = next == other;
        if (!has_other)
            assert_int_equal(ABT_pool_push_thread(pools[0], next), ABT_SUCCESS);
    }
    assert_true(has_other);
    assert_ptr_equal(amg_sched_pop(sched_of(sched)), yielder);
    assert_null(amg_sched_pop(sched_of(sched)));
    thread_end(yielder);
    thread_end(other);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

static void test_sched_prio_empties_the_first_pool_first(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_PRIO, pools);
    ABT_thread threads[POOLS];

    (void)state;
    for (int i = POOLS - 1; i >= 0; i--)
        threads[i] = thread_in(pools[i]);
    for (int i = 0; i < ROUNDS; i++) {
        assert_ptr_equal(amg_sched_pop(sched_of(sched)), threads[0]);
        assert_int_equal(
            ABT_pool_push_thread(pools[0], threads[0]), ABT_SUCCESS);
    }
    for (int i = 0; i < POOLS; i++) {
        assert_ptr_equal(amg_sched_pop(sched_of(sched)), threads[i]);
        thread_end(threads[i]);
    }
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

static void test_sched_randws_steals_when_its_own_is_empty(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_RANDWS, pools);
    ABT_thread threads[POOLS];
    ABT_thread stolen = ABT_THREAD_NULL;
    size_t size = 0;

    (void)state;
    for (int i = POOLS - 1; i >= 0; i--)
        threads[i] = thread_in(pools[i]);
    assert_int_equal(ABT_sched_get_size(sched, &size), ABT_SUCCESS);
    assert_int_equal(size, POOLS);
    assert_ptr_equal(amg_sched_pop(sched_of(sched)), threads[0]);
    stolen = amg_ult_handle(amg_sched_pop(sched_of(sched)));
    assert_true(stolen == threads[1] || stolen == threads[2]);
    assert_non_null(amg_sched_pop(sched_of(sched)));
    assert_null(amg_sched_pop(sched_of(sched)));
    for (int i = 0; i < POOLS; i++)
        thread_end(threads[i]);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

static void test_sched_has_to_stop_when_asked(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_BASIC_WAIT, pools);
    ABT_thread thread = thread_in(pools[1]);
    ABT_bool stop = ABT_TRUE;

    (void)state;
    assert_int_equal(ABT_sched_has_to_stop(sched, &stop), ABT_SUCCESS);
    assert_int_equal(stop, ABT_FALSE);
    assert_int_equal(ABT_sched_finish(sched), ABT_SUCCESS);
    assert_int_equal(ABT_sched_has_to_stop(sched, &stop), ABT_SUCCESS);
    assert_int_equal(stop, ABT_FALSE);
    assert_ptr_equal(amg_sched_pop(sched_of(sched)), thread);
    assert_int_equal(ABT_sched_has_to_stop(sched, &stop), ABT_SUCCESS);
    assert_int_equal(stop, ABT_TRUE);
    thread_end(thread);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

/* A user-defined scheduler; its data counts the threads it ran. */
static const ABT_sched_config_var start_var = {0, ABT_SCHED_CONFIG_INT};

static struct {
    int start;
    atomic_int units;
    int frees;
} users;

static int users_init(ABT_sched sched, ABT_sched_config config)
{
    int rc = ABT_sched_config_read(config, 1, &users.start);

    return rc != ABT_SUCCESS ? rc : ABT_sched_set_data(sched, &users);
}

static void users_run(ABT_sched sched)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_bool stop = ABT_FALSE;
    void *data = NULL;

    ABT_sched_get_data(sched, &data);
    ABT_sched_get_pools(sched, 1, 0, &pool);
    while (ABT_sched_has_to_stop(sched, &stop) == ABT_SUCCESS && !stop) {
        ABT_unit unit = ABT_UNIT_NULL;

        ABT_pool_pop_wait(pool, &unit, 3600);
        if (unit == ABT_UNIT_NULL)
            continue;
        ABT_xstream_run_unit(unit, pool);
        if (data == &users)
            atomic_fetch_add(&users.units, 1);
        ABT_xstream_check_events(sched);
    }
}

static int users_free(ABT_sched sched)
{
    (void)sched;
    users.frees++;
    return ABT_SUCCESS;
}

static const ABT_sched_def users_def = {
    .type = ABT_SCHED_TYPE_ULT,
    .init = users_init,
    .run = users_run,
    .free = users_free,
};

static void test_sched_of_the_program_runs_a_stream(void **state)
{
    ABT_sched_def def = users_def;
    ABT_sched_config config = ABT_SCHED_CONFIG_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_xstream none = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    (void)state;
    assert_int_equal(
        ABT_sched_config_create(&config, start_var, 42,
            ABT_sched_config_automatic, ABT_TRUE, ABT_sched_config_var_end),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_sched_create(&def, 1, NULL, config, &sched), ABT_SUCCESS);
    assert_int_equal(ABT_sched_config_free(&config), ABT_SUCCESS);
    assert_int_equal(users.start, 42);
    assert_int_equal(ABT_xstream_create(sched, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_create(sched, &none), ABT_ERR_SCHED);
    assert_int_equal(ABT_sched_free(&sched), ABT_ERR_SCHED);
    assert_int_equal(ABT_xstream_get_main_pools(stream, 1, &pool), ABT_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        ABT_thread thread = thread_in(pool);

        assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    }
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_true(atomic_load(&users.units) >= ROUNDS);
    assert_int_equal(users.frees, 1);
}

/* A flag is an int: eight bytes of another type do not overwrite what is beside
 * an int, and do not count. */
static void test_sched_flag_of_another_type_does_not_count(void **state)
{
    int key = ABT_sched_config_automatic.idx;
    ABT_sched_config config = ABT_SCHED_CONFIG_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    double real = 1; /* its first four bytes are 0 */
    int flag = ABT_FALSE;

    (void)state;
    assert_int_equal(ABT_sched_config_create(&config, ABT_sched_config_var_end),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_sched_config_set(config, key, ABT_SCHED_CONFIG_DOUBLE, &real),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_sched_create_basic(ABT_SCHED_BASIC, 1, NULL, config, &sched),
        ABT_SUCCESS);
    assert_true(sched_of(sched)->is_automatic);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
    assert_int_equal(
        ABT_sched_config_set(config, key, ABT_SCHED_CONFIG_INT, &flag),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_sched_create_basic(ABT_SCHED_BASIC, 1, NULL, config, &sched),
        ABT_SUCCESS);
    assert_false(sched_of(sched)->is_automatic);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
    assert_int_equal(ABT_sched_config_free(&config), ABT_SUCCESS);
}

static void test_sched_in_a_pool_runs_until_its_own_are_empty(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_BASIC, pools);
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool main_pool = ABT_POOL_NULL;
    ABT_thread threads[POOLS];

    (void)state;
    for (int i = 0; i < POOLS; i++)
        threads[i] = thread_in(pools[i]);
    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(
        ABT_xstream_get_main_pools(self, 1, &main_pool), ABT_SUCCESS);
    atomic_store(&ran, 0);
    assert_int_equal(ABT_pool_add_sched(main_pool, sched), ABT_SUCCESS);
    assert_int_equal(ABT_pool_add_sched(main_pool, sched), ABT_ERR_SCHED);
    for (int i = 0; i < POOLS; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    assert_int_equal(atomic_load(&ran), POOLS);
}

/* Appends its number to `order`. */
static int order[POOLS + 1];
static atomic_int ordered;

static void order_take(void *arg)
{
    order[atomic_fetch_add(&ordered, 1)] = *(int *)arg;
}

static ABT_thread order_thread(ABT_pool pool, int *number)
{
    ABT_thread thread = ABT_THREAD_NULL;

    assert_int_equal(ABT_thread_create(pool, order_take, number,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    return thread;
}

static void test_sched_in_a_pool_runs_its_own_first(void **state)
{
    ABT_pool pools[POOLS];
    ABT_sched sched = sched_create(ABT_SCHED_BASIC, pools);
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool main_pool = ABT_POOL_NULL;
    ABT_thread threads[POOLS + 1];
    int numbers[POOLS + 1];

    (void)state;
    assert_int_equal(ABT_xstream_self(&self), ABT_SUCCESS);
    assert_int_equal(
        ABT_xstream_get_main_pools(self, 1, &main_pool), ABT_SUCCESS);
    for (int i = 0; i <= POOLS; i++)
        numbers[i] = i;
    for (int i = 0; i < POOLS; i++)
        threads[i] = order_thread(pools[i], &numbers[i]);
    assert_int_equal(ABT_pool_add_sched(main_pool, sched), ABT_SUCCESS);
    threads[POOLS] = order_thread(main_pool, &numbers[POOLS]);
    for (int i = 0; i <= POOLS; i++)
        assert_int_equal(ABT_thread_free(&threads[i]), ABT_SUCCESS);
    for (int i = 0; i <= POOLS; i++)
        assert_int_equal(order[i], i);
}

static void test_sched_bad_arguments_change_nothing(void **state)
{
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_pool pools[POOLS];

    (void)state;
    assert_int_equal(ABT_sched_create_basic((ABT_sched_predef)77, 1, NULL,
                         ABT_SCHED_CONFIG_NULL, &sched),
        ABT_ERR_INV_SCHED_PREDEF);
    assert_int_equal(ABT_sched_create_basic(ABT_SCHED_BASIC, -1, NULL,
                         ABT_SCHED_CONFIG_NULL, &sched),
        ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_sched_create(NULL, 1, NULL, ABT_SCHED_CONFIG_NULL, &sched),
        ABT_ERR_INV_ARG);
    assert_ptr_equal(sched, ABT_SCHED_NULL);
    assert_int_equal(ABT_sched_free(&sched), ABT_ERR_INV_SCHED);
    sched = sched_create(ABT_SCHED_BASIC, pools);
    assert_int_equal(
        ABT_sched_get_pools(sched, POOLS, 1, pools), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_sched_get_pools(sched, 1, -1, pools), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_sched_free(&sched), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sched_basic_serves_each_pool_in_turn),
        cmocka_unit_test(test_sched_prio_empties_the_first_pool_first),
        cmocka_unit_test(test_sched_randws_steals_when_its_own_is_empty),
        cmocka_unit_test(test_sched_has_to_stop_when_asked),
        cmocka_unit_test(test_sched_of_the_program_runs_a_stream),
        cmocka_unit_test(test_sched_flag_of_another_type_does_not_count),
        cmocka_unit_test(test_sched_in_a_pool_runs_until_its_own_are_empty),
        cmocka_unit_test(test_sched_in_a_pool_runs_its_own_first),
        cmocka_unit_test(test_sched_bad_arguments_change_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
