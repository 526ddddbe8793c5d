/* SPDX-License-Identifier: BSD-3-Clause */
/* An eventual is set once, gives its bytes to all waiters, and may be freed as
 * soon as one has seen that it is ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "abt.h"
#include "base/log.h"
#include "log_kept.h"

enum { THREADS = 4, ROUNDS = 3000 };

static void test_eventual_bad_arguments_change_nothing(void **state)
{
    ABT_eventual none = ABT_EVENTUAL_NULL;
    ABT_eventual one = ABT_EVENTUAL_NULL;
    ABT_bool is_ready = ABT_TRUE;
    uint64_t bytes = 0;

    (void)state;
    assert_int_equal(ABT_eventual_create(0, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_create(-1, &one), ABT_ERR_INV_ARG);
    assert_null(one);
    assert_int_equal(ABT_eventual_free(NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_free(&none), ABT_ERR_INV_EVENTUAL);
    assert_int_equal(ABT_eventual_wait(none, NULL), ABT_ERR_INV_EVENTUAL);
    assert_int_equal(
        ABT_eventual_test(none, NULL, &is_ready), ABT_ERR_INV_EVENTUAL);
    assert_int_equal(ABT_eventual_set(none, NULL, 0), ABT_ERR_INV_EVENTUAL);
    assert_int_equal(ABT_eventual_reset(none), ABT_ERR_INV_EVENTUAL);
    assert_int_equal(ABT_eventual_create(4, &one), ABT_SUCCESS);
    assert_int_equal(ABT_eventual_test(one, NULL, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_set(one, &bytes, 5), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_set(one, &bytes, -1), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_set(one, NULL, 4), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_eventual_test(one, NULL, &is_ready), ABT_SUCCESS);
    assert_int_equal(is_ready, ABT_FALSE);
    assert_int_equal(ABT_eventual_free(&one), ABT_SUCCESS);
    assert_null(one);
}

static void test_eventual_misuse_names_the_call(void **state)
{
    const struct timespec soon = {.tv_sec = 1};

    (void)state;
    hg_log_set_func(log_keep);
    assert_int_equal(ABT_eventual_timedwait(ABT_EVENTUAL_NULL, NULL, &soon),
        ABT_ERR_INV_EVENTUAL);
    assert_true(log_has("ABT_eventual_timedwait()"));
    log_clear();
    assert_int_equal(
        ABT_eventual_wait(ABT_EVENTUAL_NULL, NULL), ABT_ERR_INV_EVENTUAL);
    assert_true(log_has("ABT_eventual_wait()"));
    hg_log_set_func(NULL);
}

static void test_eventual_value_is_kept(void **state)
{
    ABT_eventual eventual = ABT_EVENTUAL_NULL;
    ABT_bool is_ready = ABT_TRUE;
    void *value = &eventual;
    const char *word = "hello";
    char text[] = "hello";

    (void)state;
    assert_int_equal(ABT_eventual_create(sizeof(text), &eventual), ABT_SUCCESS);
    assert_int_equal(
        ABT_eventual_test(eventual, &value, &is_ready), ABT_SUCCESS);
    assert_int_equal(is_ready, ABT_FALSE);
    assert_ptr_equal(value, &eventual);
    assert_int_equal(
        ABT_eventual_set(eventual, text, sizeof(text)), ABT_SUCCESS);
    memset(text, 'x', sizeof(text));
    assert_int_equal(
        ABT_eventual_set(eventual, text, sizeof(text)), ABT_ERR_EVENTUAL);
    assert_int_equal(ABT_eventual_wait(eventual, &value), ABT_SUCCESS);
    assert_string_equal(value, word);
    assert_int_equal((uintptr_t)value % _Alignof(max_align_t), 0);
    value = NULL;
    assert_int_equal(
        ABT_eventual_test(eventual, &value, &is_ready), ABT_SUCCESS);
    assert_int_equal(is_ready, ABT_TRUE);
    assert_string_equal(value, word);
    assert_int_equal(ABT_eventual_reset(eventual), ABT_SUCCESS);
    assert_int_equal(ABT_eventual_test(eventual, NULL, &is_ready), ABT_SUCCESS);
    assert_int_equal(is_ready, ABT_FALSE);
    assert_int_equal(ABT_eventual_set(eventual, text, 1), ABT_SUCCESS);
    assert_int_equal(ABT_eventual_wait(eventual, NULL), ABT_SUCCESS);
    assert_int_equal(ABT_eventual_free(&eventual), ABT_SUCCESS);
}

static void test_eventual_without_value_gives_null(void **state)
{
    ABT_eventual_memory memory = ABT_EVENTUAL_INITIALIZER;
    ABT_eventual eventual = ABT_EVENTUAL_MEMORY_GET_HANDLE(&memory);
    void *value = &memory;

    (void)state;
    assert_int_equal(ABT_eventual_set(eventual, NULL, 0), ABT_SUCCESS);
    assert_int_equal(ABT_eventual_wait(eventual, &value), ABT_SUCCESS);
    assert_null(value);
}

/* Two threads in turn create an eventual for the other, wait for it, and free
 * it on return: its setter must have left it by then. */
struct mailbox {
    _Atomic(ABT_eventual) to_set;
    atomic_int failures;
};

static void *set_all(void *arg)
{
    struct mailbox *box = arg;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        ABT_eventual eventual = ABT_EVENTUAL_NULL;
        int bytes = i % 2 == 0 ? (int)sizeof(i) : 0;

        while ((eventual = atomic_exchange(&box->to_set, ABT_EVENTUAL_NULL)) ==
               ABT_EVENTUAL_NULL)
            sched_yield();
        if (ABT_eventual_set(eventual, &i, bytes) != ABT_SUCCESS)
            atomic_fetch_add(&box->failures, 1);
    }
    return arg;
}

/* The eventual lies in this frame, which the next call overwrites. */
__attribute__((noinline)) static int wait_on_stack(
    struct mailbox *box, uint64_t i)
{
    ABT_eventual_memory memory = ABT_EVENTUAL_INITIALIZER;
    ABT_eventual heap = ABT_EVENTUAL_NULL;
    ABT_bool is_ready = ABT_FALSE;
    void *value = NULL;
    int bad = 0;

    if (i % 2 != 0) {
        atomic_store(&box->to_set, ABT_EVENTUAL_MEMORY_GET_HANDLE(&memory));
        return ABT_eventual_wait(ABT_EVENTUAL_MEMORY_GET_HANDLE(&memory),
                   NULL) != ABT_SUCCESS;
    }
    bad += ABT_eventual_create(sizeof(i), &heap) != ABT_SUCCESS;
    atomic_store(&box->to_set, heap);
    if (i % 4 == 0) {
        while (is_ready == ABT_FALSE)
            bad += ABT_eventual_test(heap, &value, &is_ready) != ABT_SUCCESS;
    } else {
        bad += ABT_eventual_wait(heap, &value) != ABT_SUCCESS;
    }
    bad += *(uint64_t *)value != i;
    bad += ABT_eventual_free(&heap) != ABT_SUCCESS;
    return bad;
}

static void test_eventual_freed_at_once(void **state)
{
    struct mailbox box;
    pthread_t thread;

    (void)state;
    atomic_init(&box.to_set, ABT_EVENTUAL_NULL);
    atomic_init(&box.failures, 0);
    assert_int_equal(pthread_create(&thread, NULL, set_all, &box), 0);
    for (uint64_t i = 0; i < ROUNDS; i++)
        assert_int_equal(wait_on_stack(&box, i), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&box.failures), 0);
}

static void *wait_for(void *arg)
{
    void *value = NULL;

    return ABT_eventual_wait(arg, &value) == ABT_SUCCESS ? value : NULL;
}

static void test_eventual_wakes_all(void **state)
{
    ABT_eventual eventual = ABT_EVENTUAL_NULL;
    pthread_t threads[THREADS];
    int value = 7;

    (void)state;
    assert_int_equal(
        ABT_eventual_create(sizeof(value), &eventual), ABT_SUCCESS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, wait_for, eventual), 0);
    assert_int_equal(
        ABT_eventual_set(eventual, &value, sizeof(value)), ABT_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        void *back = NULL;

        assert_int_equal(pthread_join(threads[i], &back), 0);
        assert_non_null(back);
        assert_int_equal(*(int *)back, 7);
    }
    assert_int_equal(ABT_eventual_free(&eventual), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eventual_bad_arguments_change_nothing),
        cmocka_unit_test(test_eventual_misuse_names_the_call),
        cmocka_unit_test(test_eventual_value_is_kept),
        cmocka_unit_test(test_eventual_without_value_gives_null),
        cmocka_unit_test(test_eventual_freed_at_once),
        cmocka_unit_test(test_eventual_wakes_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
