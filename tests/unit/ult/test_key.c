/* SPDX-License-Identifier: BSD-3-Clause */
/* Each thread has its own values of keys, which are destroyed with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "abt.h"
#include "base/mem.h"

enum { KEYS = 11, THREADS = 3 };

static ABT_key keys[KEYS];
static int destroyed;

static void value_destroy(void *value)
{
    assert_non_null(value);
    destroyed++;
}

static ABT_pool main_pool(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    ABT_xstream_self(&stream);
    ABT_xstream_get_main_pools(stream, 1, &pool);
    return pool;
}

static int keys_setup(void **state)
{
    (void)state;
    destroyed = 0;
    if (ABT_init(0, NULL) != ABT_SUCCESS)
        return -1;
    for (int i = 0; i < KEYS; i++)
        if (ABT_key_create(value_destroy, &keys[i]) != ABT_SUCCESS)
            return -1;
    return 0;
}

static int keys_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < KEYS; i++)
        if (keys[i] != ABT_KEY_NULL)
            ABT_key_free(&keys[i]);
    return ABT_finalize();
}

/* Sets all values, yields to threads that do the same, and finds its own. */
static void values_keep(void *arg)
{
    char *mine = arg;

    for (int i = 0; i < KEYS; i++)
        *mine += ABT_key_set(keys[i], mine + i) != ABT_SUCCESS;
    ABT_thread_yield();
    for (int i = 0; i < KEYS; i++) {
        void *value = NULL;

        *mine += ABT_key_get(keys[i], &value) != ABT_SUCCESS;
        *mine += value != mine + i;
    }
}

static void test_key_values_are_each_threads_own(void **state)
{
    ABT_thread threads[THREADS];
    char areas[THREADS][KEYS] = {{0}};

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(ABT_thread_create(main_pool(), values_keep, areas[i],
                             ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
    assert_int_equal(ABT_thread_join_many(THREADS, threads), ABT_SUCCESS);
    assert_int_equal(destroyed, 0);
    assert_int_equal(ABT_thread_free_many(THREADS, threads), ABT_SUCCESS);
    assert_int_equal(destroyed, THREADS * KEYS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(areas[i][0], 0);
}

static void test_key_unnamed_thread_destroys_its_values(void **state)
{
    char area[KEYS] = {0};

    (void)state;
    assert_int_equal(ABT_thread_create(main_pool(), values_keep, area,
                         ABT_THREAD_ATTR_NULL, NULL),
        ABT_SUCCESS);
    while (destroyed < KEYS)
        ABT_thread_yield();
    assert_int_equal(area[0], 0);
}

static void test_key_not_set_is_null(void **state)
{
    void *value = &destroyed;

    (void)state;
    assert_int_equal(ABT_key_get(keys[0], &value), ABT_SUCCESS);
    assert_null(value);
    assert_int_equal(ABT_key_set(keys[0], NULL), ABT_SUCCESS);
    assert_int_equal(ABT_key_get(keys[0], &value), ABT_SUCCESS);
    assert_null(value);
}

static void nothing_do(void *arg)
{
    (void)arg;
}

static void test_key_may_end_before_its_values(void **state)
{
    ABT_thread thread = ABT_THREAD_NULL;
    void *value = NULL;

    (void)state;
    assert_int_equal(ABT_thread_create(main_pool(), nothing_do, NULL,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_set_specific(thread, keys[0], &value), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_get_specific(thread, keys[0], &value), ABT_SUCCESS);
    assert_ptr_equal(value, &value);
    assert_int_equal(ABT_key_free(&keys[0]), ABT_SUCCESS);
    assert_int_equal(ABT_key_create(NULL, &keys[0]), ABT_SUCCESS);
    /* The new key may have the memory of the old one, but is another key. */
    assert_int_equal(
        ABT_thread_get_specific(thread, keys[0], &value), ABT_SUCCESS);
    assert_null(value);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(destroyed, 1);
}

static void test_key_without_memory_keeps_what_is(void **state)
{
    void *value = NULL;
    int rc = ABT_SUCCESS;

    (void)state;
    for (int i = 0; i < KEYS && rc == ABT_SUCCESS; i++) {
        amg_mem_fail_nth(1);
        rc = ABT_key_set(keys[i], &keys[i]);
        amg_mem_fail_nth(0);
    }
    assert_int_equal(rc, ABT_ERR_MEM);
    assert_int_equal(ABT_key_get(keys[0], &value), ABT_SUCCESS);
    assert_ptr_equal(value, &keys[0]);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(ABT_key_set(keys[i], NULL), ABT_SUCCESS);
}

static void *stranger_ask(void *arg)
{
    void *value = NULL;
    int *codes = arg;

    codes[0] = ABT_key_set(keys[0], &value);
    codes[1] = ABT_key_get(keys[0], &value);
    return NULL;
}

static void test_key_bad_input_is_refused(void **state)
{
    ABT_key none = ABT_KEY_NULL;
    pthread_t stranger;
    int codes[2];
    void *value = NULL;

    (void)state;
    assert_int_equal(ABT_key_create(NULL, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_key_free(NULL), ABT_ERR_INV_KEY);
    assert_int_equal(ABT_key_free(&none), ABT_ERR_INV_KEY);
    assert_int_equal(ABT_key_set(none, NULL), ABT_ERR_INV_KEY);
    assert_int_equal(ABT_key_get(none, &value), ABT_ERR_INV_KEY);
    assert_int_equal(ABT_key_get(keys[0], NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_thread_set_specific(ABT_THREAD_NULL, keys[0], NULL),
        ABT_ERR_INV_THREAD);
    assert_int_equal(pthread_create(&stranger, NULL, stranger_ask, codes), 0);
    assert_int_equal(pthread_join(stranger, NULL), 0);
    assert_int_equal(codes[0], ABT_ERR_INV_XSTREAM);
    assert_int_equal(codes[1], ABT_ERR_INV_XSTREAM);
}

#define KEY_TEST(function)                                                     \
    cmocka_unit_test_setup_teardown(function, keys_setup, keys_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEY_TEST(test_key_values_are_each_threads_own),
        KEY_TEST(test_key_unnamed_thread_destroys_its_values),
        KEY_TEST(test_key_not_set_is_null),
        KEY_TEST(test_key_may_end_before_its_values),
        KEY_TEST(test_key_without_memory_keeps_what_is),
        KEY_TEST(test_key_bad_input_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
