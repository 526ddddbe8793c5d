/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks are cached for later threads, up to a bound, and end in a guard. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abt.h"
#include "base/process.h"
#include "base/mem.h"
#include "ult/xstream_local.h"

enum { KEPT = 2, MANY = 64, LINE_CAP = 4096, OWN_LEN = 64 * 1024 };

static int room_setup(void **state)
{
    (void)state;
    setenv("ABT_MEM_MAX_NUM_STACKS", "2", 1);
    amg_stacks_open();
    return 0;
}

static int room_teardown(void **state)
{
    (void)state;
    amg_stacks_close();
    return 0;
}

static void test_stack_given_is_taken_again(void **state)
{
    struct amg_stack_cache cache = {.count = 0};
    struct amg_stack *first = NULL;

    (void)state;
    first = amg_stack_alloc(&cache, amg_stack_default_len());
    assert_non_null(first);
    assert_int_equal(first->len, amg_stack_default_len());
    amg_stack_free(&cache, first);
    assert_int_equal(cache.count, 1);
    assert_ptr_equal(amg_stack_alloc(&cache, amg_stack_default_len()), first);
    amg_stack_free(&cache, first);
    amg_stack_cache_flush(&cache);
    assert_int_equal(cache.count, 0);
    /* The same by a caller without a cache. */
    assert_ptr_equal(amg_stack_alloc(NULL, amg_stack_default_len()), first);
    amg_stack_free(NULL, first);
}

static void test_stack_caches_are_bounded(void **state)
{
    struct amg_stack_cache cache = {.count = 0};
    struct amg_stack *stacks[MANY];
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    for (int i = 0; i < MANY; i++) {
        stacks[i] = amg_stack_alloc(&cache, amg_stack_default_len());
        assert_non_null(stacks[i]);
    }
    for (int i = 0; i < MANY; i++)
        amg_stack_free(&cache, stacks[i]);
    assert_int_equal(amg_stack_cache_cap(), KEPT);
    assert_int_equal(cache.count, KEPT);
    amg_stack_cache_flush(&cache);
    amg_mem_stats_get(&after);
    /* All streams together cache sixteen times as many. */
    assert_true(after.live - before.live <= KEPT * 16);
    amg_stacks_close();
    amg_mem_stats_get(&after);
    assert_true(after.live <= before.live);
}

static void test_stack_of_its_own_length_is_not_kept(void **state)
{
    struct amg_stack_cache cache = {.count = 0};
    struct amg_stack *stack = amg_stack_alloc(&cache, OWN_LEN + 1);

    (void)state;
    assert_non_null(stack);
    assert_true(stack->len > OWN_LEN);
    memset(stack->base, 1, stack->len);
    amg_stack_free(&cache, stack);
    assert_int_equal(cache.count, 0);
}

static void test_stack_top_lies_within(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        struct amg_stack *stack = amg_stack_alloc(NULL, OWN_LEN);
        const char *top = NULL;

        assert_non_null(stack);
        top = amg_stack_top(stack, sizeof(struct amg_stack));
        assert_true(
            top + sizeof(struct amg_stack) <= (char *)stack->base + stack->len);
        assert_true(top > (char *)stack->base + stack->len / 2);
        assert_int_equal((uintptr_t)top % sizeof(void *), 0);
        amg_stack_free(NULL, stack);
    }
}

static void test_stack_without_memory_is_null(void **state)
{
    (void)state;
    assert_null(amg_stack_alloc(NULL, SIZE_MAX));
    assert_null(amg_stack_alloc(NULL, SIZE_MAX / 2));
    amg_mem_fail_nth(1);
    assert_null(amg_stack_alloc(NULL, OWN_LEN));
    amg_mem_fail_nth(0);
}

static void test_stack_guard_may_not_be_touched(void **state)
{
    struct amg_stack *stack = amg_stack_alloc(NULL, OWN_LEN);
    int status = 0;
    pid_t child = -1;

    (void)state;
    assert_non_null(stack);
    /* Both ends of the guard. */
    for (size_t below = 1; below <= AMG_GUARD_LEN; below += AMG_GUARD_LEN - 1) {
        child = fork();
        if (child == 0) {
            signal(SIGSEGV,
                SIG_DFL); /* the handler of the test framework would continue */
            *((volatile char *)stack->base - below) = 1;
            _exit(0);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    amg_stack_free(NULL, stack);
}

/* Overruns any stack; not a tail call. */
static int fall(volatile int *depth) /* NOLINT(misc-no-recursion) */
{
    volatile int below[256];

    below[0] = *depth + 1;
    if (below[0] < 0)
        return 0;
    return fall(&below[0]) + below[0];
}

static void thread_fall(void *arg)
{
    *(int *)arg = fall(arg);
}

static void overflow_child(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    int depth = 0;

    ABT_init(0, NULL);
    ABT_xstream_self(&stream);
    ABT_xstream_get_main_pools(stream, 1, &pool);
    ABT_thread_create(pool, thread_fall, &depth, ABT_THREAD_ATTR_NULL, &thread);
    ABT_thread_free(&thread);
}

static void test_stack_overflow_is_logged(void **state)
{
    char text[LINE_CAP] = "";
    size_t len = 0;
    ssize_t got = 0;
    int ends[2];
    int status = 0;
    pid_t child = -1;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        overflow_child();
        _exit(0);
    }
    assert_true(child > 0);
    close(ends[1]);
    while (len < sizeof(text) - 1 &&
           (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)got;
    close(ends[0]);
    text[len] = '\0';
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_non_null(strstr(text, "has used up its stack of 2097152 bytes"));
    assert_non_null(strstr(text, "ABT_THREAD_STACKSIZE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_stack_given_is_taken_again, room_setup, room_teardown),
        cmocka_unit_test_setup_teardown(
            test_stack_caches_are_bounded, room_setup, room_teardown),
        cmocka_unit_test_setup_teardown(
            test_stack_of_its_own_length_is_not_kept, room_setup,
            room_teardown),
        cmocka_unit_test_setup_teardown(
            test_stack_top_lies_within, room_setup, room_teardown),
        cmocka_unit_test_setup_teardown(
            test_stack_without_memory_is_null, room_setup, room_teardown),
        cmocka_unit_test_setup_teardown(
            test_stack_guard_may_not_be_touched, room_setup, room_teardown),
        cmocka_unit_test(test_stack_overflow_is_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
