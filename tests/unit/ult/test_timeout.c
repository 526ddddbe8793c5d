/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts expire at their time and in order, each once, and not after they
 * were cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/list.h"
#include "ult/park.h"

enum { MANY = 2000, THREADS = 4, ROUNDS = 400 };

struct case_timeout {
    struct amg_timeout timeout;
    uint64_t rung_ns;
    unsigned place; /* timeouts that had expired before */
    atomic_uint expirations;
};

static atomic_uint
    expired; /* the futex word of the thread that waits for all */

static void on_expire(struct amg_timeout *timeout)
{
    struct case_timeout *one =
        amg_container_of(timeout, struct case_timeout, timeout);

    one->rung_ns = amg_clock_ns();
    one->place = atomic_load(&expired);
    atomic_fetch_add(&one->expirations, 1);
    atomic_fetch_add(&expired, 1);
    amg_futex_wake(&expired, 1);
}

static void wait_for_rings(unsigned count)
{
    for (;;) {
        unsigned seen = atomic_load(&expired);

        if (seen >= count)
            return;
        amg_futex_wait(&expired, seen);
    }
}

static int setup(void **state)
{
    (void)state;
    atomic_store(&expired, 0);
    srand(7);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    amg_timeout_fini();
    return 0;
}

static void test_timeout_moment_expires_once(void **state)
{
    struct case_timeout one = {.rung_ns = 0};
    const uint64_t moment = amg_clock_ns() + 3 * AMG_NS_PER_MS;

    (void)state;
    assert_true(amg_timeout_set(&one.timeout, moment, on_expire));
    wait_for_rings(1);
    assert_false(amg_timeout_cancel(&one.timeout));
    assert_true(one.rung_ns >= moment);
    assert_int_equal(atomic_load(&one.expirations), 1);
}

static void test_timeout_past_moment_expires(void **state)
{
    struct case_timeout one = {.rung_ns = 0};

    (void)state;
    assert_true(amg_timeout_set(&one.timeout, 0, on_expire));
    wait_for_rings(1);
    assert_false(amg_timeout_cancel(&one.timeout));
}

static void test_timeout_canceled_is_silent(void **state)
{
    struct case_timeout far = {.rung_ns = 0};
    struct case_timeout near = {.rung_ns = 0};

    (void)state;
    assert_true(amg_timeout_set(&far.timeout, AMG_NO_DEADLINE, on_expire));
    assert_true(amg_timeout_set(&near.timeout, 0, on_expire));
    wait_for_rings(1);
    assert_true(amg_timeout_cancel(&far.timeout));
    assert_false(amg_timeout_cancel(&near.timeout));
    assert_int_equal(atomic_load(&far.expirations), 0);
}

/* Some are cancelled in the middle of the heap; the others expire in order. */
static void test_timeout_many_expire_in_order(void **state)
{
    struct case_timeout *many = calloc(MANY, sizeof(*many));
    const uint64_t start = amg_clock_ns() + 200 * AMG_NS_PER_MS;
    unsigned canceled = 0;
    bool in_time = false;

    (void)state;
    assert_non_null(many);
    for (int i = 0; i < MANY; i++)
        assert_true(amg_timeout_set(&many[i].timeout,
            start + (uint64_t)(rand() % MANY) * 1000, on_expire));
    in_time = amg_clock_ns() <
              start; /* otherwise some expired before others were set */
    for (int i = 0; i < MANY; i += 3)
        canceled += amg_timeout_cancel(&many[i].timeout);
    wait_for_rings(MANY - canceled);
    for (int i = 0; i < MANY; i++) {
        const struct case_timeout *one = &many[i];

        if (i % 3 != 0)
            assert_false(amg_timeout_cancel(&many[i].timeout));
        assert_true(atomic_load(&many[i].expirations) <= 1);
        for (int k = 0; k < MANY; k += 97) {
            const struct case_timeout *other = &many[k];

            if (in_time && one->rung_ns != 0 && other->rung_ns != 0 &&
                one->timeout.node.key < other->timeout.node.key)
                assert_true(one->place < other->place);
        }
    }
    assert_true(canceled > 0);
    assert_int_equal(atomic_load(&expired), MANY - canceled);
    free(many);
}

/* Sets and cancels at the moment of expiration; both outcomes are reported. */
static void *race(void *arg)
{
    uintptr_t lies = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct case_timeout one = {.rung_ns = 0};
        bool is_back = false;

        if (!amg_timeout_set(&one.timeout, amg_clock_ns() + 20000, on_expire))
            return arg;
        while (amg_clock_ns() < one.timeout.node.key) {
        }
        is_back = amg_timeout_cancel(&one.timeout);
        lies += atomic_load(&one.expirations) != (is_back ? 0 : 1);
    }
    return (void *)lies;
}

static void test_timeout_cancel_races_expiry(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &expired), 0);
    for (int i = 0; i < THREADS; i++) {
        void *lies = NULL;

        assert_int_equal(pthread_join(threads[i], &lies), 0);
        assert_null(lies);
    }
}

static void test_timeout_again_after_fini(void **state)
{
    (void)state;
    amg_timeout_fini();
    amg_timeout_fini();
    test_timeout_past_moment_expires(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_timeout_moment_expires_once, setup),
        cmocka_unit_test_setup(test_timeout_past_moment_expires, setup),
        cmocka_unit_test_setup(test_timeout_canceled_is_silent, setup),
        cmocka_unit_test_setup(test_timeout_many_expire_in_order, setup),
        cmocka_unit_test_setup(test_timeout_cancel_races_expiry, setup),
        cmocka_unit_test_setup(test_timeout_again_after_fini, setup),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
