/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads and OS threads park until they are unparked, or until a
 * deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "abt.h"
#include "base/clock.h"
#include "base/fibre.h"
#include "ult/park.h"

enum {
    ROUNDS = 2000,
    RACES = 300,
    PATIENCE_MS = 600000, /* longer than any test lasts */
    SOON_NS = 50000,      /* so that both ends of the race are met */
    BLOCKED = 10000,
    BLOCKED_SANITIZED = 200,
    PAGE_KIB = 4,
    LIMIT_KIB = 16,
};

/* A flag, and the threads that wait for it. */
struct gate {
    struct amg_lock lock;
    struct amg_list waiters;
    bool is_open;
};

static void gate_init(struct gate *gate)
{
    amg_lock_init(&gate->lock);
    amg_list_init(&gate->waiters);
    gate->is_open = false;
}

/* Waits, and resets the flag. False: the deadline came first. */
static bool gate_wait(struct gate *gate, uint64_t deadline_ns)
{
    struct amg_waiter waiter;

    amg_lock_lock(&gate->lock);
    if (!gate->is_open) {
        amg_waiter_init(&waiter);
        amg_list_push(&gate->waiters, &waiter.link);
        return amg_park_until(&waiter, &gate->lock, deadline_ns);
    }
    gate->is_open = false;
    amg_lock_unlock(&gate->lock);
    return true;
}

/* Lets one thread pass, now or later. */
static void gate_open(struct gate *gate)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&gate->lock);
    link = amg_list_pop(&gate->waiters);
    gate->is_open = link == NULL;
    amg_lock_unlock(&gate->lock);
    if (link != NULL)
        amg_unpark(amg_container_of(link, struct amg_waiter, link));
}

static ABT_pool main_pool(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;

    ABT_xstream_self(&stream);
    ABT_xstream_get_main_pools(stream, 1, &pool);
    return pool;
}

static int runtime_setup(void **state)
{
    (void)state;
    return ABT_init(0, NULL);
}

static int runtime_teardown(void **state)
{
    (void)state;
    return ABT_finalize();
}

struct talk {
    struct gate there;
    struct gate back;
    int answers;
};

static void talk_init(struct talk *talk)
{
    gate_init(&talk->there);
    gate_init(&talk->back);
    talk->answers = 0;
}

static void talk_answer(void *arg)
{
    struct talk *talk = arg;

    for (int i = 0; i < ROUNDS; i++) {
        gate_wait(&talk->there, AMG_NO_DEADLINE);
        talk->answers++;
        gate_open(&talk->back);
    }
}

static void *talk_answer_main(void *arg)
{
    talk_answer(arg);
    return NULL;
}

static void talk_ask(struct talk *talk)
{
    for (int i = 0; i < ROUNDS; i++) {
        gate_open(&talk->there);
        gate_wait(&talk->back, AMG_NO_DEADLINE);
    }
}

static void test_park_threads_of_one_stream_take_turns(void **state)
{
    struct talk talk;
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    talk_init(&talk);
    assert_int_equal(ABT_thread_create(main_pool(), talk_answer, &talk,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    talk_ask(&talk);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(talk.answers, ROUNDS);
}

static void test_park_threads_of_two_streams_take_turns(void **state)
{
    struct talk talk;
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    (void)state;
    talk_init(&talk);
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    assert_int_equal(ABT_thread_create_on_xstream(stream, talk_answer, &talk,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    talk_ask(&talk);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
    assert_int_equal(talk.answers, ROUNDS);
}

static void test_park_os_thread_and_user_level_thread_take_turns(void **state)
{
    struct talk talk;
    pthread_t thread;

    (void)state;
    talk_init(&talk);
    assert_int_equal(pthread_create(&thread, NULL, talk_answer_main, &talk), 0);
    talk_ask(&talk);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(talk.answers, ROUNDS);
}

static void past_wait(void *arg)
{
    struct gate *gate = arg;

    assert_false(gate_wait(gate, amg_clock_ns()));
    assert_true(amg_list_is_empty(&gate->waiters));
    gate_open(gate);
    assert_true(gate_wait(gate, amg_clock_deadline_ns(PATIENCE_MS)));
}

static void *past_wait_main(void *arg)
{
    past_wait(arg);
    return NULL;
}

static void test_park_until_past_moment_ends(void **state)
{
    struct gate gate;
    pthread_t thread;

    (void)state;
    gate_init(&gate);
    past_wait(&gate); /* on the stack of main() */
    assert_int_equal(pthread_create(&thread, NULL, past_wait_main, &gate), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

struct race {
    struct gate gate;
    atomic_bool is_over;
};

static void *races_open(void *arg)
{
    struct race *race = arg;

    while (!atomic_load(&race->is_over)) {
        gate_open(&race->gate);
        usleep(SOON_NS / 1000); /* not for order: to hit the deadline */
    }
    return NULL;
}

/* In both orders the waiter leaves the list, and continues once. */
static void test_park_until_races_with_unpark(void **state)
{
    struct race race = {.is_over = false};
    pthread_t thread;

    (void)state;
    gate_init(&race.gate);
    assert_int_equal(pthread_create(&thread, NULL, races_open, &race), 0);
    for (int i = 0; i < RACES; i++) {
        (void)gate_wait(&race.gate, amg_clock_ns() + SOON_NS);
        assert_true(amg_list_is_empty(&race.gate.waiters));
    }
    atomic_store(&race.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void self_suspend(void *arg)
{
    *(int *)arg += 1;
    assert_int_equal(ABT_self_suspend(), ABT_SUCCESS);
    *(int *)arg += 1;
}

static void test_park_suspended_goes_on_once_resumed(void **state)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state now = ABT_THREAD_STATE_READY;
    int steps = 0;

    (void)state;
    assert_int_equal(ABT_thread_create(main_pool(), self_suspend, &steps,
                         ABT_THREAD_ATTR_NULL, &thread),
        ABT_SUCCESS);
    assert_int_equal(ABT_thread_resume(thread), ABT_ERR_THREAD);
    while (now != ABT_THREAD_STATE_BLOCKED) {
        ABT_thread_yield();
        assert_int_equal(ABT_thread_get_state(thread, &now), ABT_SUCCESS);
    }
    assert_int_equal(steps, 1);
    assert_int_equal(ABT_thread_resume(thread), ABT_SUCCESS);
    assert_int_equal(ABT_thread_resume(thread), ABT_ERR_THREAD);
    assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
    assert_int_equal(steps, 2);
    assert_int_equal(ABT_thread_resume(ABT_THREAD_NULL), ABT_ERR_INV_THREAD);
}

/* One thread parks under a biased lock that its stream owns. */
struct biased {
    struct amg_bias lock;
    struct amg_ult *_Atomic parked;
    bool goes_on;
};

static void biased_wait(void *arg)
{
    struct biased *biased = arg;
    struct amg_ult *self = amg_ult_self();

    amg_bias_lock(&biased->lock);
    atomic_store(&biased->parked, self);
    amg_park_biased(self, &biased->lock);
    biased->goes_on = true;
}

/* Sees the waiter's writes under the lock before the lock is released. */
static void *biased_unpark(void *arg)
{
    struct biased *biased = arg;
    struct amg_ult *ult = NULL;

    while ((ult = atomic_load(&biased->parked)) == NULL)
        sched_yield();
    amg_bias_lock(&biased->lock);
    assert_int_equal(amg_ult_state(ult), AMG_ULT_BLOCKED);
    amg_bias_unlock(&biased->lock);
    amg_ult_make_ready(ult);
    return NULL;
}

static void test_park_biased_ends_when_other_os_thread_has_lock(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct biased biased = {.goes_on = false};
        ABT_thread waiter = ABT_THREAD_NULL;
        pthread_t thread;

        amg_bias_init(&biased.lock);
        if (amg_bias_is_shared(&biased.lock))
            skip();
        assert_int_equal(
            pthread_create(&thread, NULL, biased_unpark, &biased), 0);
        assert_int_equal(ABT_thread_create(main_pool(), biased_wait, &biased,
                             ABT_THREAD_ATTR_NULL, &waiter),
            ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&waiter), ABT_SUCCESS);
        assert_true(biased.goes_on);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

static void gate_pass(void *arg)
{
    gate_wait(arg, AMG_NO_DEADLINE);
}

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * PAGE_KIB;
}

static bool is_sanitized(void)
{
#if defined(AMG_FIBRE_ASAN) || defined(AMG_FIBRE_TSAN)
    return true;
#else
    return false;
#endif
}

static void test_park_many_blocked_take_little_memory(void **state)
{
    int count = is_sanitized() ? BLOCKED_SANITIZED : BLOCKED;
    ABT_thread *threads = test_calloc((size_t)count, sizeof(ABT_thread));
    size_t blocked = 0;
    struct gate gate;
    long kib = resident_kib();

    (void)state;
    gate_init(&gate);
    for (int i = 0; i < count; i++)
        assert_int_equal(ABT_thread_create(main_pool(), gate_pass, &gate,
                             ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
    ABT_thread_yield(); /* all run once before main() runs again */
    ABT_pool_get_total_size(main_pool(), &blocked);
    assert_int_equal(blocked, count);
    kib = resident_kib() - kib;
    print_message("%d blocked threads: %ld KiB, %.1f KiB each\n", count, kib,
        (double)kib / count);
    /* Each uses one or two pages of its stack. */
    if (!is_sanitized())
        assert_true(kib <= (LIMIT_KIB + 2l * PAGE_KIB) * count);
    for (int i = 0; i < count; i++)
        gate_open(&gate);
    assert_int_equal(ABT_thread_free_many(count, threads), ABT_SUCCESS);
    test_free(threads);
}

#define PARK_TEST(function)                                                    \
    cmocka_unit_test_setup_teardown(function, runtime_setup, runtime_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARK_TEST(test_park_threads_of_one_stream_take_turns),
        PARK_TEST(test_park_threads_of_two_streams_take_turns),
        PARK_TEST(test_park_os_thread_and_user_level_thread_take_turns),
        PARK_TEST(test_park_until_past_moment_ends),
        PARK_TEST(test_park_until_races_with_unpark),
        PARK_TEST(test_park_biased_ends_when_other_os_thread_has_lock),
        PARK_TEST(test_park_suspended_goes_on_once_resumed),
        PARK_TEST(test_park_many_blocked_take_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
