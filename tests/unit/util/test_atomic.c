/* SPDX-License-Identifier: BSD-3-Clause */
/* Each atomic operation returns the documented value, and no update is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "mercury_atomic.h"

enum { ROUNDS = 20000 };

static hg_atomic_int32_t atomic_start = HG_ATOMIC_VAR_INIT(7);
static hg_atomic_int32_t atomic_shared32;
static hg_atomic_int64_t atomic_shared64;

static void test_atomic_32_returns_as_promised(void **state)
{
    hg_atomic_int32_t a;

    (void)state;
    assert_int_equal(hg_atomic_get32(&atomic_start), 7);
    hg_atomic_init32(&a, 4);
    assert_int_equal(hg_atomic_incr32(&a), 5);
    assert_int_equal(hg_atomic_decr32(&a), 4);
    assert_int_equal(hg_atomic_or32(&a, 3), 4);
    assert_int_equal(hg_atomic_xor32(&a, 1), 7);
    assert_int_equal(hg_atomic_and32(&a, 12), 6);
    assert_int_equal(hg_atomic_get32(&a), 4);
    assert_false(hg_atomic_cas32(&a, 5, 9));
    assert_int_equal(hg_atomic_get32(&a), 4);
    assert_true(hg_atomic_cas32(&a, 4, -9));
    hg_atomic_fence();
    assert_int_equal(hg_atomic_get32(&a), -9);
    hg_atomic_set32(&a, INT32_MIN);
    assert_int_equal(hg_atomic_get32(&a), INT32_MIN);
}

static void test_atomic_64_returns_as_promised(void **state)
{
    const int64_t big = INT64_C(1) << 40;
    hg_atomic_int64_t a;

    (void)state;
    hg_atomic_init64(&a, big);
    assert_true(hg_atomic_incr64(&a) == big + 1);
    assert_true(hg_atomic_decr64(&a) == big);
    assert_true(hg_atomic_or64(&a, 3) == big);
    assert_true(hg_atomic_xor64(&a, 1) == big + 3);
    assert_true(hg_atomic_and64(&a, big) == big + 2);
    assert_true(hg_atomic_get64(&a) == big);
    assert_false(hg_atomic_cas64(&a, 5, 9));
    assert_true(hg_atomic_cas64(&a, big, -big));
    assert_true(hg_atomic_get64(&a) == -big);
    hg_atomic_set64(&a, INT64_MIN);
    assert_true(hg_atomic_get64(&a) == INT64_MIN);
}

static void *atomic_count(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t seen = hg_atomic_get64(&atomic_shared64);

        hg_atomic_incr32(&atomic_shared32);
        while (!hg_atomic_cas64(&atomic_shared64, seen, seen + 2))
            seen = hg_atomic_get64(&atomic_shared64);
    }
    return NULL;
}

static void test_atomic_threads_lose_nothing(void **state)
{
    pthread_t threads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, atomic_count, NULL), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hg_atomic_get32(&atomic_shared32), 3 * ROUNDS);
    assert_true(hg_atomic_get64(&atomic_shared64) == 6 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atomic_32_returns_as_promised),
        cmocka_unit_test(test_atomic_64_returns_as_promised),
        cmocka_unit_test(test_atomic_threads_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
