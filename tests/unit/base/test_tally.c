/* SPDX-License-Identifier: BSD-3-Clause */
/* The split counter sums the changes of all threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/bias.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void test_tally_add_one_thread_sums(void **state)
{
    struct amg_tally tally;

    (void)state;
    amg_tally_init(&tally);
    assert_int_equal(amg_tally_sum(&tally), 0);
    amg_tally_add(&tally, 3);
    amg_tally_add(&tally, -1);
    assert_int_equal(amg_tally_sum(&tally), 2);
}

static void *add_much(void *arg)
{
    struct amg_tally *tally = arg;

    for (int i = 0; i < ROUNDS; i++) {
        amg_tally_add(tally, 2);
        amg_tally_add(tally, -1);
    }
    return NULL;
}

/* One thread becomes the owner, by chance. */
static void test_tally_add_threads_sum(void **state)
{
    struct amg_tally tally;
    pthread_t threads[THREADS];

    (void)state;
    amg_tally_init(&tally);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, add_much, &tally), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(amg_tally_sum(&tally), THREADS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally_add_one_thread_sums),
        cmocka_unit_test(test_tally_add_threads_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
