/* SPDX-License-Identifier: BSD-3-Clause */
/* When a loop closes its gate while a thread gives it work, one of both sees
 * the other, in any interleaving; else the loop would sleep for ever. The test
 * plays the loop, in the order of the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "margo/instance.h"

enum { ROUNDS = 50000, SPINS = 20000, SKEWS = 128 };

static struct margo_instance mid;
static atomic_uint round_begun; /* by the thread that wakes the loop */
static atomic_uint round_done;  /* by the thread that plays the loop */
static bool has_seen;           /* the loop has seen the work of this round */

static void wait_for(const atomic_uint *word, unsigned wanted)
{
    for (unsigned i = 0; atomic_load(word) != wanted; i++)
        if (i >= SPINS)
            sched_yield();
}

/* The loop owns the line of `is_draining` when a round begins, so that the
 * store of the other thread takes longer than the load that follows it. */
static void *gate_run(void *arg)
{
    (void)arg;
    for (unsigned i = 1; i <= ROUNDS; i++) {
        atomic_store(&mid.is_draining, false);
        atomic_store(&round_done, i);
        wait_for(&round_begun, i);
        (void)atomic_fetch_add(&mid.wakeup.gated, 1u);
        atomic_thread_fence(memory_order_seq_cst);
        has_seen = atomic_load_explicit(&mid.is_draining, memory_order_acquire);
    }
    atomic_store(&round_done, ROUNDS + 1);
    return NULL;
}

static void test_gate_that_closes_misses_no_wake(void **state)
{
    pthread_t thread;
    unsigned lost = 0;
    unsigned before = 0;

    (void)state;
    assert_int_equal(ABT_init(0, NULL), ABT_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, gate_run, NULL), 0);
    wait_for(&round_done, 1);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        before = mid.wakeup.wakes;
        atomic_store(&mid.wakeup.gated, 0);
        atomic_store(&round_begun, i);
        for (volatile unsigned skew = i % SKEWS; skew > 0; skew--)
            continue;
        atomic_store_explicit(&mid.is_draining, true, memory_order_release);
        amg_margo_wake(&mid);
        wait_for(&round_done, i + 1);
        lost += mid.wakeup.wakes == before && !has_seen;
    }
    pthread_join(thread, NULL);
    assert_int_equal(lost, 0);
    assert_int_equal(ABT_finalize(), ABT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate_that_closes_misses_no_wake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
