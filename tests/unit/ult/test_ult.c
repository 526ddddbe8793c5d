/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads: create, run, yield, exit, cancel, revive, move, free. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "abt.h"
#include "base/mem.h"

enum {
    MANY = 500,
    DEPTH = 100,
    STEPS = 3,
    STREAMS = 3,
    STACK = 128 * 1024,
};

static ABT_pool pool;

static int runtime_setup(void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    (void)state;
    if (ABT_init(0, NULL) != ABT_SUCCESS ||
        ABT_xstream_self(&stream) != ABT_SUCCESS)
        return -1;
    return ABT_xstream_get_main_pools(stream, 1, &pool);
}

static int runtime_teardown(void **state)
{
    (void)state;
    return ABT_finalize();
}

static ABT_thread start(void (*function)(void *), void *arg)
{
    ABT_thread thread = ABT_THREAD_NULL;

    assert_int_equal(
        ABT_thread_create(pool, function, arg, ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    return thread;
}

static ABT_thread_state state_of(ABT_thread thread)
{
    ABT_thread_state now = ABT_THREAD_STATE_READY;

    assert_int_equal(ABT_thread_get_state(thread, &now), ABT_SUCCESS);
    return now;
}

static void count_up(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void test_ult_create_many_all_run(void **state)
{
    static ABT_thread threads[MANY];
    static ABT_pool pools[MANY];
    static void (*functions[MANY])(void *);
    static void *args[MANY];
    atomic_int count = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        pools[i] = pool;
        functions[i] = count_up;
        args[i] = &count;
    }
    assert_int_equal(ABT_thread_create_many(MANY, pools, functions, args,
                         ABT_THREAD_ATTR_NULL, threads),
        ABT_SUCCESS);
    assert_int_equal(state_of(threads[MANY - 1]), ABT_THREAD_STATE_READY);
    assert_int_equal(ABT_thread_join_many(MANY, threads), ABT_SUCCESS);
    assert_int_equal(count, MANY);
    assert_int_equal(state_of(threads[0]), ABT_THREAD_STATE_TERMINATED);
    assert_int_equal(ABT_thread_free_many(MANY, threads), ABT_SUCCESS);
    assert_ptr_equal(threads[0], ABT_THREAD_NULL);
}

static void unnamed_look(void *arg)
{
    ABT_bool is_unnamed = ABT_FALSE;

    ABT_self_is_unnamed(&is_unnamed);
    atomic_fetch_add((atomic_int *)arg, is_unnamed == ABT_TRUE);
}

static void test_ult_unnamed_frees_itself(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    atomic_int count = 0;

    (void)state;
    ABT_thread_free(&(ABT_thread){start(count_up, &count)}); /* warms caches */
    count = 0;
    amg_mem_stats_get(&before);
    for (int i = 1; i <= MANY; i++) {
        assert_int_equal(ABT_thread_create(pool, unnamed_look, &count,
                             ABT_THREAD_ATTR_NULL, NULL),
            ABT_SUCCESS);
        while (count < i)
            ABT_thread_yield();
    }
    amg_mem_stats_get(&after);
    assert_true(after.live <= before.live + 2);
}

struct order {
    char text[2 * STEPS + 1];
    int len;
};

struct stepper {
    struct order *order;
    char name;
};

static void steps_take(void *arg)
{
    struct stepper *self = arg;

    for (int i = 0; i < STEPS; i++) {
        self->order->text[self->order->len++] = self->name;
        ABT_thread_yield();
    }
}

static void test_ult_yield_takes_turns(void **state)
{
    struct order order = {.len = 0};
    struct stepper a = {&order, 'a'};
    struct stepper b = {&order, 'b'};
    ABT_thread threads[2];

    (void)state;
    threads[0] = start(steps_take, &a);
    threads[1] = start(steps_take, &b);
    assert_int_equal(ABT_thread_free_many(2, threads), ABT_SUCCESS);
    assert_string_equal(order.text, "ababab");
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void depth_reach(void *arg)
{
    struct {
        atomic_int *deepest;
        int depth;
    } *self = arg, below;

    atomic_fetch_add(self->deepest, 1);
    if (self->depth == 0)
        return;
    below.deepest = self->deepest;
    below.depth = self->depth - 1;
    ABT_thread_free(&(ABT_thread){start(depth_reach, &below)});
}

static void test_ult_nested_joins_return(void **state)
{
    atomic_int deepest = 0;
    struct {
        atomic_int *deepest;
        int depth;
    } first = {&deepest, DEPTH};

    (void)state;
    depth_reach(&first);
    assert_int_equal(deepest, DEPTH + 1);
}

static void exit_deep(void *arg)
{
    count_up(arg);
    ABT_thread_exit();
    count_up(arg);
}

static void test_ult_exit_ends_at_once(void **state)
{
    atomic_int count = 0;
    ABT_thread thread = start(exit_deep, &count);

    (void)state;
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(ABT_thread_exit(), ABT_ERR_INV_THREAD); /* main() */
}

static void yield_for_ever(void *arg)
{
    for (;;) {
        count_up(arg);
        ABT_thread_yield();
    }
}

static void test_ult_cancelled_ends(void **state)
{
    atomic_int count = 0;
    atomic_int rounds = 0;
    ABT_thread never = start(count_up, &count);
    ABT_thread soon = ABT_THREAD_NULL;

    (void)state;
    assert_int_equal(ABT_thread_cancel(never), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&never), ABT_SUCCESS);
    assert_int_equal(count, 0);
    soon = start(yield_for_ever, &rounds);
    while (rounds < STEPS)
        ABT_thread_yield();
    assert_int_equal(ABT_thread_cancel(soon), ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&soon), ABT_SUCCESS);
}

static void test_ult_revived_runs_again(void **state)
{
    atomic_int count = 0;
    ABT_thread thread = start(count_up, &count);
    ABT_thread same = thread;

    (void)state;
    assert_int_equal(
        ABT_thread_revive(pool, count_up, &count, &thread), ABT_ERR_INV_THREAD);
    for (int i = 1; i <= MANY; i++) {
        assert_int_equal(ABT_thread_join(thread), ABT_SUCCESS);
        assert_int_equal(count, i);
        assert_int_equal(
            i % 2 ? ABT_thread_revive(pool, count_up, &count, &thread)
                  : ABT_thread_revive_to(pool, count_up, &count, &thread),
            ABT_SUCCESS);
    }
    assert_ptr_equal(thread, same);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
}

static void test_ult_answers_what_is_asked(void **state)
{
    atomic_int count = 0;
    ABT_thread thread = start(count_up, &count);
    ABT_thread self = ABT_THREAD_NULL;
    ABT_unit_id ids[2] = {0, 0};
    void (*function)(void *) = NULL;
    void *arg = NULL;
    size_t len = 0;
    ABT_bool is = ABT_FALSE;

    (void)state;
    assert_int_equal(ABT_thread_self(&self), ABT_SUCCESS);
    assert_int_equal(ABT_thread_is_primary(self, &is), ABT_SUCCESS);
    assert_int_equal(is, ABT_TRUE);
    assert_int_equal(ABT_thread_get_id(self, &ids[0]), ABT_SUCCESS);
    assert_int_equal(ABT_thread_get_id(thread, &ids[1]), ABT_SUCCESS);
    assert_true(ids[0] != ids[1] && ids[0] != 0 && ids[1] != 0);
    assert_int_equal(
        ABT_thread_get_thread_func(thread, &function), ABT_SUCCESS);
    assert_true(function == count_up);
    assert_int_equal(ABT_thread_get_arg(thread, &arg), ABT_SUCCESS);
    assert_ptr_equal(arg, &count);
    assert_int_equal(ABT_thread_get_stacksize(thread, &len), ABT_SUCCESS);
    assert_int_equal(len, 2 * 1024 * 1024);
    assert_int_equal(ABT_thread_join(self), ABT_ERR_INV_THREAD);
    assert_int_equal(ABT_thread_join(ABT_THREAD_NULL), ABT_ERR_INV_THREAD);
    assert_int_equal(ABT_thread_get_state(thread, NULL), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
}

/* Address of the caller's stack. */
static void address_tell(void *arg)
{
    char here = 0;

    *(uintptr_t *)arg = (uintptr_t)&here;
}

static void test_ult_attributes_choose_the_stack(void **state)
{
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    char *memory = test_malloc(STACK);
    uintptr_t address = 0;
    size_t len = 0;

    (void)state;
    assert_int_equal(ABT_thread_attr_create(&attr), ABT_SUCCESS);
    assert_int_equal(ABT_thread_attr_set_stacksize(attr, 1), ABT_ERR_INV_ARG);
    assert_int_equal(ABT_thread_attr_set_stacksize(attr, STACK), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_create(pool, address_tell, &address, attr, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_thread_get_stacksize(thread, &len), ABT_SUCCESS);
    assert_int_equal(len, STACK);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_attr_set_stack(attr, memory + 1, STACK), ABT_ERR_INV_ARG);
    assert_int_equal(
        ABT_thread_attr_set_stack(attr, memory, STACK), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_create(pool, address_tell, &address, attr, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
#if !defined(__SANITIZE_ADDRESS__) /* which puts locals elsewhere */
    assert_true(
        address > (uintptr_t)memory && address < (uintptr_t)memory + STACK);
#endif
    assert_int_equal(ABT_thread_attr_free(&attr), ABT_SUCCESS);
    test_free(memory);
}

static void task_look(void *arg)
{
    ABT_unit_type type = ABT_UNIT_TYPE_EXT;
    int rc = ABT_self_yield();

    ABT_self_get_type(&type);
    if (type == ABT_UNIT_TYPE_TASK && rc == ABT_ERR_INV_THREAD)
        count_up(arg);
}

static void test_ult_tasklets_run_and_cannot_yield(void **state)
{
    atomic_int count = 0;
    ABT_task tasks[STEPS];

    (void)state;
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(
            ABT_task_create(pool, task_look, &count, &tasks[i]), ABT_SUCCESS);
    assert_int_equal(ABT_task_cancel(tasks[0]), ABT_SUCCESS);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(ABT_task_free(&tasks[i]), ABT_SUCCESS);
    assert_int_equal(count, STEPS - 1);
    assert_int_equal(
        ABT_task_create(pool, count_up, &count, NULL), ABT_SUCCESS);
    while (count < STEPS)
        ABT_thread_yield();
}

static void *stranger_use(void *arg)
{
    for (int i = 0; i < MANY; i++) {
        ABT_thread thread = ABT_THREAD_NULL;

        if (ABT_thread_create(pool, count_up, arg, ABT_THREAD_ATTR_NULL,
                &thread) != ABT_SUCCESS ||
            ABT_thread_free(&thread) != ABT_SUCCESS)
            break;
    }
    return NULL;
}

static void test_ult_os_threads_create_and_join(void **state)
{
    atomic_int count = 0;
    pthread_t stranger;

    (void)state;
    assert_int_equal(pthread_create(&stranger, NULL, stranger_use, &count), 0);
    while (count < MANY)
        ABT_thread_yield();
    assert_int_equal(pthread_join(stranger, NULL), 0);
}

static void test_ult_streams_share_a_pool(void **state)
{
    static ABT_thread threads[MANY];
    ABT_xstream streams[STREAMS];
    atomic_int count = 0;

    (void)state;
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(ABT_xstream_create_basic(ABT_SCHED_DEFAULT, 1, &pool,
                             ABT_SCHED_CONFIG_NULL, &streams[i]),
            ABT_SUCCESS);
    for (int i = 0; i < MANY; i++)
        threads[i] = start(i % 2 ? count_up : exit_deep, &count);
    assert_int_equal(ABT_thread_free_many(MANY, threads), ABT_SUCCESS);
    assert_int_equal(count, MANY);
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(ABT_xstream_join(streams[i]), ABT_SUCCESS);
        assert_int_equal(ABT_xstream_free(&streams[i]), ABT_SUCCESS);
    }
}

static void migrated(ABT_thread thread, void *arg)
{
    (void)thread;
    count_up(arg);
}

static void test_ult_migrates_to_another_pool(void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool other = ABT_POOL_NULL;
    ABT_pool now = ABT_POOL_NULL;
    atomic_int count = 0;
    ABT_thread thread = start(count_up, &count);

    (void)state;
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(
        ABT_xstream_get_main_pools(stream, 1, &other), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_set_callback(thread, migrated, &count), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_migrate_to_pool(thread, pool), ABT_ERR_MIGRATION_TARGET);
    assert_int_equal(ABT_thread_migrate_to_pool(thread, other), ABT_SUCCESS);
    assert_int_equal(ABT_thread_join(thread), ABT_SUCCESS);
    assert_int_equal(ABT_thread_get_last_pool(thread, &now), ABT_SUCCESS);
    assert_ptr_equal(now, other);
    assert_int_equal(count, 2);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_ult_without_memory_changes_nothing(void **state)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    atomic_int count = 0;

    (void)state;
    assert_int_equal(ABT_thread_attr_create(&attr), ABT_SUCCESS);
    assert_int_equal(ABT_thread_attr_set_stacksize(attr, STACK), ABT_SUCCESS);
    amg_mem_fail_nth(1);
    assert_int_equal(
        ABT_thread_create(pool, count_up, &count, attr, &thread), ABT_ERR_MEM);
    amg_mem_fail_nth(0);
    assert_ptr_equal(thread, ABT_THREAD_NULL);
    assert_int_equal(ABT_thread_attr_free(&attr), ABT_SUCCESS);
    assert_int_equal(
        ABT_thread_create(ABT_POOL_NULL, count_up, NULL, NULL, &thread),
        ABT_ERR_INV_POOL);
    assert_int_equal(
        ABT_thread_create(pool, NULL, NULL, NULL, &thread), ABT_ERR_INV_ARG);
}

#define ULT_TEST(function)                                                     \
    cmocka_unit_test_setup_teardown(function, runtime_setup, runtime_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ULT_TEST(test_ult_create_many_all_run),
        ULT_TEST(test_ult_unnamed_frees_itself),
        ULT_TEST(test_ult_yield_takes_turns),
        ULT_TEST(test_ult_nested_joins_return),
        ULT_TEST(test_ult_exit_ends_at_once),
        ULT_TEST(test_ult_cancelled_ends),
        ULT_TEST(test_ult_revived_runs_again),
        ULT_TEST(test_ult_answers_what_is_asked),
        ULT_TEST(test_ult_attributes_choose_the_stack),
        ULT_TEST(test_ult_tasklets_run_and_cannot_yield),
        ULT_TEST(test_ult_os_threads_create_and_join),
        ULT_TEST(test_ult_streams_share_a_pool),
        ULT_TEST(test_ult_migrates_to_another_pool),
        ULT_TEST(test_ult_without_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
